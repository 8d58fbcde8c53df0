import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { changeEmail, sendConfirmationAgain } from '../../../core/accounts/change-email.js'
import { PASSWORD_LENGTH } from '../../../core/accounts/password.js'
import { CONFIRMATION_MINUTES, type SignedIn } from '../../../core/accounts/session.js'
import { AppError } from '../../../core/errors.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { networkOf } from '../../../http/shared/networks.js'
import { EmailField, emailAddress, waysToConfirm } from '../../parts/account-fields.js'
import { Field, Notices } from '../../parts/page-parts.js'
import { Moment } from '../../parts/text.js'
import { refusalMessage } from '../../shared/answers.js'
import type { WebsitePorts } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'

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
  return (
    <section id="email-address" class="card stack" aria-labelledby="email-title">
      <h2 id="email-title">Email address</h2>
      <p>
        {email ? (
          <>
            Your address is <bdi>{email}</bdi>. Links to sign in go there.
          </>
        ) : (
          'Your account has no confirmed address. With one, a link can sign you in without a password.'
        )}
      </p>
      {pending && (
        <div class="stack">
          <p>
            <bdi>{pending.email}</bdi> is not confirmed yet. {waysToConfirm(sendsMail)} The link ends{' '}
            <Moment at={pending.expiresAt} />.
          </p>
          <div class="row">
            <form method="post" action="/account/email/again">
              <button class="small" type="submit">
                {sendsMail ? 'Send again' : 'New link'}
              </button>
            </form>
            <form method="post" action="/account/email/cancel">
              <button class="small" type="submit" aria-label="Cancel the change of the address">
                Cancel
              </button>
            </form>
          </div>
        </div>
      )}
      <form class="stack" method="post" action="/account/email">
        <Notices problem={form.emailProblem} />
        <EmailField
          label={email ? 'New address' : 'Address'}
          value={form.typed}
          hint={sendsMail ? 'We send a link there to confirm that it is yours.' : undefined}
        />
        {hasPassword && (
          <Field
            id="email-password"
            name="password"
            label="Your password"
            type="password"
            autocomplete="current-password"
            maxlength={PASSWORD_LENGTH.max}
            required
          />
        )}
        <button type="submit">{email ? 'Change address' : 'Set address'}</button>
      </form>
    </section>
  )
}

const WINDOW_MS = 15 * 60_000
const MAILS_PER_NETWORK = 10
const WRONG_EMAIL = 'That is no email address. Check it.'
const TOO_MANY = 'Too many links were asked for from here. Wait a quarter of an hour.'

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
  const countMail = async ({ ip }: FastifyRequest) => {
    const asked = await ports.guesses.hit(`sign-in:mail:${networkOf(ip)}`, WINDOW_MS, MAILS_PER_NETWORK)
    if (asked.current > MAILS_PER_NETWORK) throw new AppError('rate_limited', TOO_MANY)
  }

  app.post('/account/email', { schema: { body } }, async (request, reply) => {
    const { email } = request.body
    const signedIn = sessionOf(request)
    try {
      if (!emailAddress.safeParse(email).success) throw new AppError('invalid_request', WRONG_EMAIL)
      await countTry(signedIn.caller.account.id)
      await countMail(request)
      await changeEmail(ports, signedIn, request.body)
    } catch (error) {
      return show(request, reply, { typed: email, emailProblem: refusalMessage(error, reply) })
    }
    return reply.redirect('/account?done=email#email-address', 303)
  })

  app.post('/account/email/again', async (request, reply) => {
    try {
      await countMail(request)
      await sendConfirmationAgain(ports, sessionOf(request))
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
export const linkSent = (sendsMail: boolean): string =>
  sendsMail
    ? `A link is on its way to the address. It works once, and ends in ${CONFIRMATION_MINUTES} minutes.`
    : `The address waits to be confirmed: ask the operator of this site for the link, which ends in ${CONFIRMATION_MINUTES} minutes.`
