import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import { hashPassword, isPassword, PASSWORD_LENGTH, requireUsablePassword } from '../../../core/accounts/password.js'
import { hashToken, LINK_MINUTES } from '../../../core/accounts/session.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { networkOf, networksOf } from '../../../http/shared/networks.js'
import { emailAddressIn, MAX_EMAIL_LENGTH } from '../../../lib/email-address.js'
import { NewPasswordField, OwnName, PasswordField, UsernameField } from '../../parts/account-fields.js'
import { Layout, sendPage } from '../../parts/layout.js'
import { Notices } from '../../parts/page-parts.js'
import { SiteName } from '../../parts/site-context.js'
import { refusalMessage } from '../../shared/answers.js'
import { nextPath } from '../../shared/next-path.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import type { SessionCookie } from '../../shared/session-cookie.js'
import { useTexts } from '../../texts/texts.js'

interface SignInForm {
  /** Where to go afterwards. */
  readonly next: string
  readonly username?: string
  /** Why it did not work. */
  readonly problem?: string
  /** A link was asked for. */
  readonly sent?: boolean
  /** The identity provider is to ask who it is. */
  readonly again?: boolean
}

interface SignInPageProps extends SignInForm {
  readonly baseUrl: string
  /** The identity provider's host, where there is one. */
  readonly provider: string | undefined
  readonly signUpIsOpen: boolean
  readonly takesPasswords: boolean
  /** Whether a link can be mailed. */
  readonly sendsMail: boolean
}

/** Sign in with a password, have a link sent, or go to the identity provider. */
const SignInPage = ({
  next,
  username = '',
  problem,
  sent,
  again,
  baseUrl,
  provider,
  signUpIsOpen,
  takesPasswords,
  sendsMail,
}: SignInPageProps) => {
  const { signIn: words, parts } = useTexts()
  return (
    <Layout title={parts.signIn} signedIn={null} path="/sign-in" class="narrow">
      <form class="card stack" method="post" action={takesPasswords ? '/sign-in' : '/sign-in/mail'}>
        <h1>{parts.signIn}</h1>
        <Notices done={sent ? words.sent(LINK_MINUTES) : undefined} problem={problem} />
        <p class="problem" role="alert" id="no-cookies" hidden>
          {words.noCookies}
        </p>
        <input type="hidden" name="next" value={next} />
        {(takesPasswords || sendsMail) && (
          <UsernameField label={words.name} value={username} maxLength={MAX_EMAIL_LENGTH} />
        )}
        {takesPasswords && (
          <>
            <PasswordField label={words.password} required={false} />
            <button class="primary" type="submit">
              {parts.signIn}
            </button>
            {(sendsMail || provider) && (
              <p class="or" aria-hidden="true">
                {words.withoutPassword}
              </p>
            )}
          </>
        )}
        {sendsMail && (
          <button type="submit" formaction="/sign-in/mail">
            {words.mail}
          </button>
        )}
        {provider && (
          // The provider sends browsers back there, where they must find the cookie of this sign-in.
          <a class="button" href={`${baseUrl}/sign-in/oidc?next=${encodeURIComponent(next)}${again ? '&again=' : ''}`}>
            {words.at(provider)}
          </a>
        )}
      </form>
      {takesPasswords && !sendsMail && <p class="instead">{words.askOperator}</p>}
      {signUpIsOpen && (
        <p class="instead">
          {words.isNew} <a href="/sign-up">{words.createAccount}</a>
        </p>
      )}
    </Layout>
  )
}

interface LinkPageProps {
  readonly username: string
  readonly token: string
  readonly next: string
  readonly takesPasswords: boolean
  /** Why the new password cannot be one. */
  readonly problem?: string
}

/**
 * Opened from a link: only its button signs in, since mail programs follow links by themselves. Whoever has forgotten
 * the password sets another one here, as nowhere else without the old one.
 */
const LinkPage = ({ username, token, next, takesPasswords, problem }: LinkPageProps) => {
  const { signIn, parts } = useTexts()
  const { password } = signIn.link
  return (
    <Layout title={parts.signIn} signedIn={null} path="/sign-in" class="narrow">
      <form class="card stack" method="post" action="/sign-in/link">
        <h1>{signIn.link.welcome(<SiteName />)}</h1>
        <Notices problem={problem} />
        <p>{signIn.link.press(<bdi>{username}</bdi>)}</p>
        <input type="hidden" name="token" value={token} />
        {takesPasswords && (
          <details open={problem !== undefined}>
            <summary>{password.title}</summary>
            <OwnName username={username} />
            <NewPasswordField label={password.label} name="password" hint={password.hint} required={false} />
          </details>
        )}
        <input type="hidden" name="next" value={next} />
        <button class="primary" type="submit">
          {parts.signIn}
        </button>
      </form>
    </Layout>
  )
}

export const WINDOW_MS = 15 * 60_000
/**
 * Tries to sign in, right or wrong. Those at one account are counted for each address: else anybody could keep its owner
 * out. From all addresses together they are so few that guessing leads nowhere. Links and sessions work all the same.
 */
const TRIES = { perNetwork: 40, perAccountAndNetwork: 12, perAccount: 120 } as const
const MAILS_PER_NETWORK = 10

// A zero character is in no name, and Postgres takes none.
const name = z
  .string()
  .trim()
  .max(254)
  .refine((text) => !text.includes('\0'))
  // As the account has its address.
  .transform((text) => emailAddressIn(text) ?? text)
  .catch('')
const signInBody = z.object({
  username: name,
  password: z.string().max(PASSWORD_LENGTH.max).catch(''),
  next: nextPath,
})
const linkFields = z.object({ token: z.string().max(100).catch(''), next: nextPath })
const linkBody = linkFields.extend({
  password: z
    .string()
    .max(10 * PASSWORD_LENGTH.max)
    .catch(''),
})

/** Sends the sign-in page, as this site has it. */
export const sendSignInPage = (
  { baseUrl, provider, signUpIsOpen, takesPasswords, sendsMail }: WebsiteOptions,
  reply: FastifyReply,
  status: number,
  form: SignInForm,
) =>
  sendPage(
    reply.code(status),
    <SignInPage {...form} provider={provider?.host} {...{ baseUrl, signUpIsOpen, takesPasswords, sendsMail }} />,
  )

/** Signing in with a password or a link, and signing out. */
export function signInRoutes(app: App, options: WebsiteOptions, cookies: SessionCookie): void {
  const { takesPasswords } = options
  const { credentials, guesses, mails } = options.ports
  const isOver = async (key: string, max: number) => (await guesses.hit(`sign-in:${key}`, WINDOW_MS, max)).current > max
  const showForm = (reply: FastifyReply, status: number, form: SignInForm) =>
    sendSignInPage(options, reply, status, form)

  const given = z.literal('').optional().catch(undefined)
  const signInQuery = z.object({ next: nextPath, sent: given, again: given })
  app.get('/sign-in', { schema: { querystring: signInQuery } }, async ({ query, signedIn }, reply) =>
    signedIn
      ? reply.redirect(query.next, 303)
      : showForm(reply, 200, { next: query.next, sent: query.sent !== undefined, again: query.again !== undefined }),
  )

  app.post('/sign-in', { schema: { body: signInBody } }, async (request, reply) => {
    const { username, password, next } = request.body
    const { problems } = request.texts.signIn
    const refuse = (status: number, problem: string) => showForm(reply, status, { next, username, problem })
    if (!takesPasswords) return refuse(403, problems.noPasswords)
    const found = await credentials.find(username)
    // An unknown name counts, too: what is refused must not tell which names exist. It must not name another counter.
    const account = found?.accountId ?? username.toLowerCase()
    const network = networkOf(request.ip)
    const overs = await Promise.all([
      isOver(`network:${network}`, TRIES.perNetwork),
      isOver(`both:${network} ${account}`, TRIES.perAccountAndNetwork),
    ])
    // Last: tries that are refused anyway must not count against the account's owner elsewhere.
    if (overs.includes(true) || (await isOver(`account:${account}`, TRIES.perAccount)))
      return refuse(429, problems.tooMany)
    const right = await isPassword(password, found?.passwordHash, { networks: networksOf(request.ip) })
    // Checking takes long enough for it to be changed, which ends the sessions that there are.
    const isCurrent = right && (await credentials.find(username))?.passwordHash === found?.passwordHash
    if (!isCurrent || !found || !(await cookies.signIn(request, reply, found.accountId)))
      return refuse(401, problems.wrong)
    return reply.redirect(next, 303)
  })

  app.post('/sign-in/mail', { schema: { body: signInBody } }, async (request, reply) => {
    const { username, next } = request.body
    const { problems } = request.texts.signIn
    if (username === '') return showForm(reply, 400, { next, problem: problems.noName })
    if (await isOver(`mail:${networkOf(request.ip)}`, MAILS_PER_NETWORK))
      return showForm(reply, 429, { next, username, problem: problems.tooManyMails })
    mails.sendSignInLink(username, request.texts.language, networksOf(request.ip))
    return reply.redirect(`/sign-in?sent=&next=${encodeURIComponent(next)}`, 303)
  })

  app.get('/sign-in/link', { schema: { querystring: linkFields } }, async (request, reply) => {
    const { token, next } = request.query
    const username = await credentials.findLink(hashToken(token))
    if (username === undefined) return showForm(reply, 401, { next, problem: request.texts.signIn.problems.linkOver })
    return sendPage(reply, <LinkPage {...{ username, token, next, takesPasswords }} />)
  })

  app.post('/sign-in/link', { schema: { body: linkBody } }, async (request, reply) => {
    const { token, next, password } = request.body
    if (!takesPasswords && password !== '')
      return showForm(reply, 403, { next, problem: request.texts.signIn.problems.noPasswords })
    const username = await credentials.findLink(hashToken(token))
    let hash: string | undefined
    // All that can go wrong with it comes before the link is used up.
    if (username !== undefined && password !== '')
      try {
        requireUsablePassword(password, username)
        hash = await hashPassword(password, { networks: networksOf(request.ip) })
      } catch (error) {
        return sendPage(
          reply,
          <LinkPage {...{ username, token, next, takesPasswords }} problem={refusalMessage(error, reply)} />,
        )
      }
    const accountId = await credentials.spendLink(hashToken(token))
    if (accountId && hash) await credentials.setPassword(accountId, hash, undefined)
    if (!accountId || !(await cookies.signIn(request, reply, accountId)))
      return showForm(reply, 401, { next, problem: request.texts.signIn.problems.linkOver })
    return reply.redirect(next, 303)
  })

  app.post('/sign-out', async (request, reply) => {
    await cookies.signOut(request, reply)
    return reply.redirect(options.provider && cookies.isOfProvider(request) ? '/signed-out' : '/', 303)
  })
}
