import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { accountOfIdentity, SignInRefused } from '../../account/identity.js'
import { AppError } from '../../errors.js'
import type { App } from '../../http/fastify-app.js'
import type { WebsiteOptions } from '../ports.js'
import type { SessionCookie } from '../session-cookie.js'
import { nextPath } from './next-path.js'
import { sendSignInPage } from './sign-in-routes.js'

/** How long somebody may take at the provider. */
const MINUTES = 10

const NOT_BEGUN = 'This sign-in was not begun in this browser, or took too long. Begin again.'

const keptSchema = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  next: nextPath,
  until: z.number(),
})
type Kept = z.output<typeof keptSchema>

/** Signing in through the identity provider, where there is one. */
export function providerRoutes(app: App, options: WebsiteOptions, cookies: SessionCookie): void {
  const { provider, ports, baseUrl, signUpIsOpen } = options
  if (!provider) return
  const secure = baseUrl.startsWith('https:')
  const name = secure ? '__Host-easel-oidc' : 'easel-oidc'
  const attributes = { path: '/', httpOnly: true, sameSite: 'lax', secure } as const
  const { seal, open } = sealed(provider.secret)

  app.get('/sign-in/oidc', { schema: { querystring: z.object({ next: nextPath }) } }, async (request, reply) => {
    const { next } = request.query
    try {
      const { url, checks } = await provider.begin()
      const value = seal({ ...checks, next, until: Date.now() + MINUTES * 60_000 })
      reply.setCookie(name, value, { ...attributes, maxAge: MINUTES * 60 }).header('cache-control', 'no-store')
      return reply.redirect(url, 303)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      request.log.warn({ err: error }, 'the identity provider does not answer: check OIDC_ISSUER and that it runs')
      return sendSignInPage(options, reply, 503, { next, problem: error.message })
    }
  })

  app.get('/sign-in/oidc/callback', async (request, reply) => {
    const kept = open(request.cookies[name])
    // Once: what comes back a second time finds nothing.
    reply.clearCookie(name, attributes).header('cache-control', 'no-store')
    const next = kept?.next ?? '/playground'
    const refuse = (status: number, problem: string) => sendSignInPage(options, reply, status, { next, problem })
    if (!kept) return refuse(400, NOT_BEGUN)
    try {
      const identity = await provider.end(request.url.split('?')[1] ?? '', kept)
      const accountId = await accountOfIdentity(ports.identities, identity, signUpIsOpen)
      if (!accountId || !(await cookies.signIn(request, reply, accountId)))
        return refuse(403, `No account here belongs to your sign-in at ${provider.host}. Ask the operator for one.`)
      return reply.redirect(next, 303)
    } catch (error) {
      if (error instanceof AppError && error.code === 'unavailable') {
        request.log.warn({ err: error }, 'the identity provider does not answer: check OIDC_ISSUER and that it runs')
        return refuse(503, error.message)
      }
      if (!(error instanceof SignInRefused)) throw error
      request.log.warn({ reason: error.message }, 'somebody was not signed in by the identity provider')
      return refuse(401, `${provider.host} did not sign you in. Begin again, or sign in another way.`)
    }
  })
}

/** Text that a browser keeps and cannot change: `<base64url of JSON>.<signature>`. */
function sealed(secret: string) {
  const signatureOf = (text: string) => createHmac('sha256', secret).update(`sign-in ${text}`).digest()
  return {
    seal(kept: Kept): string {
      const text = Buffer.from(JSON.stringify(kept)).toString('base64url')
      return `${text}.${signatureOf(text).toString('base64url')}`
    },
    open(value = ''): Kept | undefined {
      const [text = '', signature = ''] = value.split('.')
      const [given, right] = [Buffer.from(signature, 'base64url'), signatureOf(text)]
      if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined
      const kept = keptSchema.parse(JSON.parse(Buffer.from(text, 'base64url').toString()))
      return kept.until > Date.now() ? kept : undefined
    },
  }
}
