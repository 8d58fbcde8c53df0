import { z } from 'zod'
import { hashPassword, PASSWORD_LENGTH, requireUsablePassword } from '../../../core/accounts/password.js'
import { usernameProblem } from '../../../core/accounts/username.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { networkOf, networksOf } from '../../../http/shared/networks.js'
import { emailAddressIn } from '../../../lib/email-address.js'
import { EmailField, NewPasswordField, UsernameField } from '../../parts/account-fields.js'
import { Layout, sendPage } from '../../parts/layout.js'
import { Notices } from '../../parts/page-parts.js'
import { refusalMessage } from '../../shared/answers.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import type { SessionCookie } from '../../shared/session-cookie.js'
import { inWords } from '../../texts/refusals.js'
import { useTexts } from '../../texts/texts.js'

interface SignUpForm {
  readonly username?: string
  readonly email?: string
  /** Why it did not work. */
  readonly problem?: string
}

/** Make an account. */
const SignUpPage = ({ username, email, problem }: SignUpForm) => {
  const { signUp: words, parts } = useTexts()
  return (
    <Layout title={words.title} signedIn={null} path="/sign-up" class="narrow">
      <form class="card stack" method="post" action="/sign-up">
        <h1>{words.title}</h1>
        <Notices problem={problem} />
        <UsernameField label={words.username} value={username} />
        <EmailField label={words.email} value={email} hint={words.emailHint} />
        <NewPasswordField label={words.password} name="password" hint={words.passwordHint} />
        <button class="primary" type="submit">
          {words.submit}
        </button>
      </form>
      <p class="instead">
        {words.haveOne} <a href="/sign-in">{parts.signIn}</a>
      </p>
    </Layout>
  )
}

const HOUR_MS = 3_600_000
/** Tries with a name that could be one: a try also tells whether the name is taken. */
const TRIES_PER_HOUR = 20

const text = z.string().trim().max(254).catch('')
const body = z.object({
  username: text,
  email: text,
  password: z
    .string()
    .max(10 * PASSWORD_LENGTH.max)
    .catch(''),
})

/** Making an account, where the operator lets people do it. */
export function signUpRoutes(app: App, options: WebsiteOptions, cookies: SessionCookie): void {
  if (!options.signUpIsOpen) return
  const { credentials, guesses, mails } = options.ports

  app.get('/sign-up', async ({ signedIn }, reply) =>
    signedIn ? reply.redirect('/playground', 303) : sendPage(reply, <SignUpPage />),
  )

  app.post('/sign-up', { schema: { body } }, async (request, reply) => {
    const { username, email, password } = request.body
    const refuse = (status: number, problem: string) =>
      sendPage(reply.code(status), <SignUpPage {...{ username, email, problem }} />)
    const wrongName = usernameProblem(username, app.site.name)
    if (wrongName) return refuse(400, inWords(wrongName, request.texts))
    const { problems } = request.texts.signUp
    const address = emailAddressIn(email)
    if (!address) return refuse(400, problems.noEmail)
    try {
      requireUsablePassword(password, username)
    } catch (error) {
      return refuse(400, refusalMessage(error, reply))
    }
    const tries = await guesses.hit(`sign-up:${networkOf(request.ip)}`, HOUR_MS, TRIES_PER_HOUR)
    if (tries.current > TRIES_PER_HOUR) return refuse(429, problems.tooMany)
    const networks = networksOf(request.ip)
    const hash = await hashPassword(password, { networks })
    const accountId = await credentials.register(username, hash)
    if (!accountId) return refuse(409, problems.taken)
    // The account has no address until its owner has shown that it is theirs. Whether another one has it is not told.
    await mails.sendConfirmation(accountId, address, request.texts.language, networks)
    await cookies.signIn(request, reply, accountId)
    return reply.redirect('/welcome', 303)
  })
}
