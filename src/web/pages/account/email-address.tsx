import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { changeEmail, sendConfirmationAgain } from '../../../core/accounts/change-email.js'
import { PASSWORD_LENGTH } from '../../../core/accounts/password.js'
import { CONFIRMATION_MINUTES, type SignedIn } from '../../../core/accounts/session.js'
import { AppError } from '../../../core/errors.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { networkOf } from '../../../http/shared/networks.js'
import { emailAddressIn } from '../../../lib/email-address.js'
import { EmailField, PasswordField, waysToConfirm } from '../../parts/account-fields.js'
import { Notices } from '../../parts/page-parts.js'
import { Moment } from '../../parts/text.js'
import { refusalMessage } from '../../shared/answers.js'
import type { WebsitePorts } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { type Texts, useTexts } from '../../texts/texts.js'

export interface EmailView {
  /** The address that waits to be confirmed. */
  readonly pending: { readonly email: string; readonly expiresAt: Date } | undefined
  /** Whether mails are sent; else they wait for the operator. */
  readonly sendsMail: boolean
  /** What was typed, and why it was refused. */
  readonly typed?: string | undefined
  readonly emailProblem?: string | undefined
}

interface EmailAddressProps extends EmailView {
  readonly signedIn: SignedIn
  readonly hasPassword: boolean
}

/** The account's address, and a form for another one, which it gets once that is confirmed. */
export const EmailAddress = ({ signedIn, hasPassword, pending, sendsMail, ...form }: EmailAddressProps) => {
  const { email } = signedIn
  const { email: words } = useTexts().account
  return (
    <section id="email-address" class="card stack" aria-labelledby="email-title">
      <h2 id="email-title">{words.title}</h2>
      <p>{email ? words.yours(<bdi>{email}</bdi>) : words.none}</p>
      {pending && (
        <div class="stack">
          <p>
            {words.pending(<bdi>{pending.email}</bdi>)} {waysToConfirm(sendsMail)}{' '}
            {words.ends(<Moment at={pending.expiresAt} />)}
          </p>
          <div class="row">
            <form method="post" action="/account/email/again">
              <button class="small" type="submit">
                {sendsMail ? words.sendAgain : words.newLink}
              </button>
            </form>
            <form method="post" action="/account/email/cancel">
              <button class="small" type="submit" aria-label={words.cancelChange}>
                {words.cancel}
              </button>
            </form>
          </div>
        </div>
      )}
      <form class="stack" method="post" action="/account/email">
        <Notices problem={form.emailProblem} />
        <EmailField
          label={email ? words.newAddress : words.address}
          value={form.typed}
          hint={sendsMail ? words.hint : undefined}
        />
        {hasPassword && <PasswordField id="email-password" name="password" label={words.password} />}
        <button type="submit">{email ? words.change : words.set}</button>
      </form>
    </section>
  )
}

const WINDOW_MS = 15 * 60_000
const MAILS_PER_ACCOUNT = 10
/** Who makes many accounts cannot have as many mails sent for each. */
const MAILS_PER_NETWORK = 50

const body = z.object({
  email: z.string().trim().max(1000).catch(''),
  password: z
    .string()
    .max(10 * PASSWORD_LENGTH.max)
    .catch(''),
})

interface EmailRoutes {
  readonly ports: Pick<WebsitePorts, 'credentials' | 'sessions' | 'mails' | 'guesses'>
  /** Counts a try to give the account's password. @throws rate_limited */
  readonly countTry: (accountId: string) => Promise<void>
  /** Shows the account's page. */
  readonly show: (
    request: FastifyRequest,
    reply: FastifyReply,
    news: Pick<EmailView, 'typed' | 'emailProblem'>,
  ) => Promise<FastifyReply>
}

/** Asks for another address, sends its link again, or cancels the change. */
export function emailAddressRoutes(app: App, { ports, countTry, show }: EmailRoutes): void {
  // Not with the links of strangers, who could use it up.
  const countMail = async ({ texts, caller, ip }: FastifyRequest) => {
    const hit = async (whose: string, most: number) => {
      const asked = await ports.guesses.hit(`account-mail:${whose}`, WINDOW_MS, most)
      if (asked.current > most) throw new AppError('rate_limited', texts.account.email.tooMany)
    }
    await hit(caller.account.id, MAILS_PER_ACCOUNT)
    await hit(networkOf(ip), MAILS_PER_NETWORK)
  }

  app.post('/account/email', { schema: { body } }, async (request, reply) => {
    const { email } = request.body
    const signedIn = sessionOf(request)
    try {
      const { wrong } = request.texts.account.email
      const address = emailAddressIn(email)
      if (!address) throw new AppError('invalid_request', wrong)
      await countTry(signedIn.caller.account.id)
      await countMail(request)
      await changeEmail(ports, signedIn, { ...request.body, email: address, language: request.texts.language })
    } catch (error) {
      return show(request, reply, { typed: email, emailProblem: refusalMessage(error, reply) })
    }
    return reply.redirect('/account?done=email#email-address', 303)
  })

  app.post('/account/email/again', async (request, reply) => {
    try {
      await countMail(request)
      await sendConfirmationAgain(ports, sessionOf(request), request.texts.language)
    } catch (error) {
      return show(request, reply, { emailProblem: refusalMessage(error, reply) })
    }
    return reply.redirect('/account?done=email#email-address', 303)
  })

  app.post('/account/email/cancel', async (request, reply) => {
    await ports.credentials.cancelEmail(request.caller.account.id)
    return reply.redirect('/account?done=canceled#email-address', 303)
  })
}

/** What the page says once a link has been asked for. */
export const linkSent = (words: Texts['account']['email'], sendsMail: boolean): string =>
  (sendsMail ? words.sent : words.waits)(CONFIRMATION_MINUTES)
