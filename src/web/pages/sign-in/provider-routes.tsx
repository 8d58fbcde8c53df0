import { createHmac, hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { accountOfIdentity, SignInFailed } from '../../../core/accounts/identity.js'
import { applyGroupRole } from '../../../core/operator/group-role.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { networkOf } from '../../../http/shared/networks.js'
import { isSameText } from '../../../lib/same-text.js'
import { Layout, sendPage } from '../../parts/layout.js'
import { nextPath } from '../../shared/next-path.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import type { SessionCookie } from '../../shared/session-cookie.js'
import { useTexts } from '../../texts/texts.js'
import { sendSignInPage, WINDOW_MS } from './sign-in-page.js'

/** How long somebody may take at the provider. */
const MINUTES = 10

/** Sign-ins that a browser may have begun and not ended yet, as in several tabs; the oldest are given up for more. */
const MOST_BEGUN = 4

/** So that the cookies of all of them stay below the 8 KiB that many proxies allow. */
const MOST_COOKIE_BYTES = 1500

/** Each asks the provider, which would hold us for the attacker. A whole office may come from one address. */
const TRIES_PER_NETWORK = 120

/** Why nobody here is who signed in at the provider: for the log. */
const NO_ACCOUNT = {
  address: 'it told no usable email address (claim "email")',
  verification: 'it does not say that the email address is verified (claim "email_verified")',
  account: 'no account has the address, or the one that has it belongs to another sign-in there',
} as const

const keptSchema = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  next: nextPath,
  until: z.number(),
})
type Kept = z.output<typeof keptSchema>

const SIGN_OUT_THERE = '/sign-out/oidc'

/** @param host of the identity provider, where its reader is still signed in */
const SignedOutPage = ({ host }: { readonly host: string | undefined }) => {
  const { signIn, parts } = useTexts()
  const { signedOut: words } = signIn
  return (
    <Layout title={words.title} signedIn={null} path="/signed-out" class="narrow">
      <section class="card stack">
        <h1>{words.title}</h1>
        {host && (
          <>
            <p>{words.stillThere(host)}</p>
            <a class="button primary" href={SIGN_OUT_THERE}>
              {words.there(host)}
            </a>
          </>
        )}
        <a class="button" href="/sign-in?again=">
          {parts.signIn}
        </a>
      </section>
    </Layout>
  )
}

/** Signing in through the identity provider, and out there, where there is one. */
export function providerRoutes(app: App, options: WebsiteOptions, cookies: SessionCookie): void {
  const { provider, ports, baseUrl } = options
  if (!provider) return
  const secure = baseUrl.startsWith('https:')
  const prefix = secure ? '__Host-easel-oidc-' : 'easel-oidc-'
  /** Each sign-in has a cookie of its own: who begins in two tabs may end in the first. */
  const nameOf = (state: string) => prefix + hash('sha256', state, 'base64url').slice(0, 16)
  const attributes = { path: '/', httpOnly: true, sameSite: 'lax', secure } as const
  const { seal, open } = sealed(provider.secret)
  const begunIn = ({ cookies }: FastifyRequest) =>
    Object.keys(cookies)
      .filter((it) => it.startsWith(prefix))
      .map((cookie) => ({ cookie, until: open(cookies[cookie])?.until ?? 0 }))
      .toSorted((one, other) => other.until - one.until)
  const showFailure = (error: unknown, request: FastifyRequest, reply: FastifyReply, next: string) => {
    if (!(error instanceof SignInFailed)) throw error
    // Nobody can sign in until the operator has corrected it.
    request.log[error.why === 'setup' ? 'error' : 'warn']({ err: error.cause }, error.message)
    const problem = request.texts.signIn.failures[error.why](provider.host)
    return sendSignInPage(options, reply, error.why === 'refused' ? 401 : 503, { next, problem })
  }

  const beginQuery = z.object({ next: nextPath, again: z.literal('').optional().catch(undefined) })
  app.get('/sign-in/oidc', { schema: { querystring: beginQuery } }, async (request, reply) => {
    const { next, again } = request.query
    try {
      const { url, checks } = await provider.begin(again !== undefined)
      const until = Date.now() + MINUTES * 60_000
      const value = seal({ ...checks, next, until })
      const kept = value.length > MOST_COOKIE_BYTES ? seal({ ...checks, next: '/playground', until }) : value
      reply.setCookie(nameOf(checks.state), kept, { ...attributes, maxAge: MINUTES * 60 })
      for (const { cookie } of begunIn(request).slice(MOST_BEGUN - 1)) reply.clearCookie(cookie, attributes)
      reply.header('cache-control', 'no-store')
      return reply.redirect(url, 303)
    } catch (error) {
      return showFailure(error, request, reply, next)
    }
  })

  app.get('/signed-out', async (request, reply) => {
    if (request.signedIn) return reply.redirect('/', 303)
    const isThere = cookies.idToken(request) !== undefined
    // Not by a redirect: the content security policy lets forms lead nowhere else, and a form signed out here.
    if (isThere && provider.signsOutThere) reply.header('refresh', `0; url=${SIGN_OUT_THERE}`)
    return sendPage(reply, <SignedOutPage host={isThere ? provider.host : undefined} />)
  })

  app.get(SIGN_OUT_THERE, async (request, reply) => {
    const idToken = cookies.idToken(request)
    if (request.signedIn || idToken === undefined) return reply.redirect('/', 303)
    try {
      const url = await provider.signOutUrl(idToken, provider.signsOutThere ? `${baseUrl}/signed-out` : undefined)
      cookies.forgetIdToken(reply)
      reply.header('cache-control', 'no-store')
      return reply.redirect(url, 303)
    } catch (error) {
      return showFailure(error, request, reply, '/playground')
    }
  })

  app.get('/sign-in/oidc/callback', async (request, reply) => {
    const { signIn: words } = request.texts
    const answer = request.url.split('?')[1] ?? ''
    const cookie = nameOf(new URLSearchParams(answer).get('state') ?? '')
    const kept = open(request.cookies[cookie])
    // Once: what comes back a second time finds nothing.
    reply.clearCookie(cookie, attributes).header('cache-control', 'no-store')
    // Somebody went back, or loaded the page again, after it had signed them in.
    if (!kept && request.signedIn) return reply.redirect('/playground', 303)
    const next = kept?.next ?? '/playground'
    const refuse = (status: number, problem: string) => sendSignInPage(options, reply, status, { next, problem })
    if (!kept) return refuse(400, words.problems.notBegun)
    const tries = await ports.guesses.hit(`sign-in:provider:${networkOf(request.ip)}`, WINDOW_MS, TRIES_PER_NETWORK)
    if (tries.current > TRIES_PER_NETWORK) return refuse(429, words.problems.tooMany)
    try {
      const person = await provider.end(answer, kept)
      const found = await accountOfIdentity(ports.identities, person, {
        makesAccounts: provider.makesAccounts,
        siteName: app.site.name,
      })
      if ('accountId' in found) {
        const { accountId } = found
        // Before the session: one must not begin with a role that this sign-in takes.
        const isOperator = await person.isOperator()
        if (isOperator !== undefined) await applyGroupRole(ports.recorded, accountId, isOperator)
        if (await cookies.signIn(request, reply, accountId)) {
          cookies.keepIdToken(reply, person.idToken)
          return reply.redirect(next, 303)
        }
      }
      const lacks = 'lacks' in found ? found.lacks : 'account'
      request.log.warn(`the identity provider signed somebody in who has no account here: ${NO_ACCOUNT[lacks]}`)
      // Else the provider would send the same person back, who may have another account there.
      const problem = words.lacks[lacks](provider.host)
      return sendSignInPage(options, reply, 403, { next, problem, again: true })
    } catch (error) {
      return showFailure(error, request, reply, next)
    }
  })
}

/** Text that a browser keeps and cannot change: `<base64url of JSON>.<signature>`. */
function sealed(secret: string) {
  const signatureOf = (text: string) => createHmac('sha256', secret).update(`sign-in ${text}`).digest('base64url')
  return {
    seal(kept: Kept): string {
      const text = Buffer.from(JSON.stringify(kept)).toString('base64url')
      return `${text}.${signatureOf(text)}`
    },
    open(value = ''): Kept | undefined {
      const [text = ''] = value.split('.')
      if (!isSameText(value, `${text}.${signatureOf(text)}`)) return undefined
      const kept = keptSchema.parse(JSON.parse(Buffer.from(text, 'base64url').toString()))
      return kept.until > Date.now() ? kept : undefined
    },
  }
}
