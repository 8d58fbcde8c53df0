import { z } from 'zod'
import { isPassword, PASSWORD_LENGTH } from '../../account/password.js'
import { hashToken } from '../../account/session.js'
import { networkOf } from '../../http/connections.js'
import type { App } from '../../http/fastify-app.js'
import { sendPage } from '../layout.js'
import type { WebsiteOptions } from '../ports.js'
import type { SessionCookie } from '../session-cookie.js'
import { LinkPage, SignInPage } from './sign-in-page.js'

/** Tries to sign in, right or wrong: of an address, and of an account wherever they come from. */
const TRIES = { windowMs: 15 * 60_000, perNetwork: 40, perAccount: 12 } as const

const WRONG = 'That name and password do not belong together. Check both, or have a link sent.'
const TOO_MANY = 'Too many tries to sign in. Wait a quarter of an hour, or have a link sent.'
const LINK_OVER = 'This link was used before or is too old. Ask for a new one.'

/** A path of this site, else the playground: an open redirect would lend our name to others. */
const next = z
  .string()
  .catch('')
  .transform((path) => (/^\/(?![/\\])[^\s\\]*$/.test(path) && !path.startsWith('/sign-in') ? path : '/playground'))

const signInBody = z.object({
  username: z.string().trim().max(254).catch(''),
  password: z.string().max(PASSWORD_LENGTH.max).catch(''),
  next,
})
const linkFields = z.object({ token: z.string().max(100).catch(''), next })

/** Signing in with a password or a link, and signing out. */
export function signInRoutes(app: App, { ports }: WebsiteOptions, cookies: SessionCookie): void {
  const { credentials, guesses } = ports
  const isOver = async (key: string, max: number) =>
    (await guesses.hit(`sign-in:${key}`, TRIES.windowMs, max)).current > max

  app.get('/sign-in', { schema: { querystring: z.object({ next }) } }, async ({ query, signedIn }, reply) =>
    signedIn ? reply.redirect(query.next, 303) : sendPage(reply, <SignInPage next={query.next} />),
  )

  app.post('/sign-in', { schema: { body: signInBody } }, async (request, reply) => {
    const { username, password, next } = request.body
    const refuse = (status: number, problem: string) =>
      sendPage(reply.code(status), <SignInPage next={next} username={username} problem={problem} />)
    const found = await credentials.find(username)
    // An unknown name counts, too: what is refused must not tell which names exist.
    const account = found?.accountId ?? username.toLowerCase()
    const [network, guessed] = await Promise.all([
      isOver(networkOf(request.ip), TRIES.perNetwork),
      isOver(account, TRIES.perAccount),
    ])
    if (network || guessed) return refuse(429, TOO_MANY)
    const right = await isPassword(password, found?.passwordHash)
    if (!right || !found || !(await cookies.signIn(request, reply, found.accountId))) return refuse(401, WRONG)
    return reply.redirect(next, 303)
  })

  app.get('/sign-in/link', { schema: { querystring: linkFields } }, async ({ query }, reply) =>
    sendPage(reply, <LinkPage {...query} />),
  )

  app.post('/sign-in/link', { schema: { body: linkFields } }, async (request, reply) => {
    const { token, next } = request.body
    const accountId = await credentials.spendLink(hashToken(token))
    if (!accountId || !(await cookies.signIn(request, reply, accountId)))
      return sendPage(reply.code(401), <SignInPage next={next} problem={LINK_OVER} />)
    return reply.redirect(next, 303)
  })

  app.post('/sign-out', async (request, reply) => {
    await cookies.signOut(request, reply)
    return reply.redirect('/', 303)
  })
}
