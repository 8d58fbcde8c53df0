import type { FastifyReply, FastifyRequest } from 'fastify'
import { hashToken, newToken, SESSION_DAYS, type SessionStore, type SignedIn } from '../../core/accounts/session.js'
import { AppError } from '../../core/errors.js'
import type { App } from '../../http/shared/fastify-app.js'
import type { Viewer } from '../../http/shared/private-images.js'
import { isFragment } from './answers.js'
import { refuseCrossSite } from './cross-site.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who is signed in; null where nobody is. */
    signedIn: SignedIn | null
  }
}

/** With the cookies of sign-ins that were begun it stays below the 8 KiB that many proxies allow. */
const MOST_ID_TOKEN_BYTES = 1800

/** Reads the session of every request of this scope, and refuses what other websites send. */
export function registerSessions(app: App, sessions: SessionStore, baseUrl: string): SessionCookie {
  const secure = baseUrl.startsWith('https:')
  // Browsers bind a cookie with this prefix to its host and https.
  const name = secure ? '__Host-easel' : 'easel'
  const ofProvider = `${name}-id-token`
  const attributes = { path: '/', httpOnly: true, sameSite: 'lax', secure } as const

  const read = async (request: FastifyRequest) => {
    const token = app.parseCookie(request.headers.cookie ?? '')[name]
    if (!token) return
    const tokenHash = hashToken(token)
    const signedIn = await sessions.find(tokenHash)
    if (!signedIn) return
    request.signedIn = signedIn
    request.caller = signedIn.caller
    // In place of an API key's: open streams look it up again.
    request.keyHash = tokenHash
  }

  app.decorateRequest('signedIn', null)
  app.addHook('onRequest', async (request) => {
    refuseCrossSite(request, baseUrl)
    await read(request)
  })
  app.addHook('preValidation', async (request) => refuseOtherAccount(request))

  return {
    read,
    async signIn(request, reply, accountId) {
      const token = newToken()
      // A browser has one session: what it held before is of no more use.
      const { signedIn } = request
      if (signedIn) await sessions.end(signedIn.caller.account.id, signedIn.sessionId)
      const userAgent = request.headers['user-agent']?.slice(0, 200)
      if (!(await sessions.begin(accountId, hashToken(token), userAgent))) return false
      if (request.cookies[ofProvider] !== undefined) reply.clearCookie(ofProvider, attributes)
      reply.setCookie(name, token, { ...attributes, maxAge: SESSION_DAYS * 86_400 })
      return true
    },
    async signOut({ signedIn }, reply) {
      if (signedIn) await sessions.end(signedIn.caller.account.id, signedIn.sessionId)
      reply.clearCookie(name, attributes)
    },
    keepIdToken(reply, idToken) {
      const kept = idToken === undefined ? '-' : `.${idToken.length > MOST_ID_TOKEN_BYTES ? '' : idToken}`
      reply.setCookie(ofProvider, kept, { ...attributes, maxAge: SESSION_DAYS * 86_400 })
    },
    idToken: ({ cookies }) => (cookies[ofProvider]?.startsWith('.') ? cookies[ofProvider].slice(1) : undefined),
    isOfProvider: ({ cookies }) => cookies[ofProvider] !== undefined,
    forgetIdToken: (reply) => reply.clearCookie(ofProvider, attributes),
  }
}

/**
 * Refuses what a page of another account sends than the one that is signed in by now, in another tab: it would do for this one what was meant
 * for that one. The scripts of every page say whose it is (assets/easel.js).
 * @throws forbidden
 */
function refuseOtherAccount({ body, signedIn, url }: FastifyRequest): void {
  const form = (body ?? {}) as { page_account?: unknown }
  const { page_account: account } = form
  if (account === undefined) return
  delete form.page_account
  // Whoever signs in or out there says who they are, or leaves.
  if (!signedIn || signedIn.caller.account.id === account || url.startsWith('/sign-')) return
  throw new AppError(
    'forbidden',
    'Somebody else is signed in here by now, so nothing was done. Load the page again, or sign in as before.',
  )
}

export interface SessionCookie {
  /** Sets who is signed in, for a request outside the scope. */
  read(request: FastifyRequest): Promise<void>
  /** Begins a session in place of the one that the browser has. False if the account was deleted. */
  signIn(request: FastifyRequest, reply: FastifyReply, accountId: string): Promise<boolean>
  signOut(request: FastifyRequest, reply: FastifyReply): Promise<void>
  /**
   * Notes that somebody has just signed in at the identity provider, until they sign out there, or sign in otherwise.
   * @param idToken for signing out there; undefined: it has no page for that
   */
  keepIdToken(reply: FastifyReply, idToken: string | undefined): void
  /** The one that is kept; empty: it was too long to be kept; undefined: there is nothing to sign out from. */
  idToken(request: FastifyRequest): string | undefined
  /** Whether who signed in last did so at the provider. */
  isOfProvider(request: FastifyRequest): boolean
  forgetIdToken(reply: FastifyReply): void
}

/** Sends those who are not signed in to /sign-in, from where they come back. */
export async function requireSignedIn(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  if (request.signedIn) return undefined
  const isPart = isFragment(request)
  // A redirected fragment would show the sign-in page inside the page, so htmx moves the whole page there.
  // What a form sent is lost with the session, so its sender comes back to the form's page.
  const page = isPart ? request.headers['hx-current-url'] : request.headers.referer
  const from = isPart || request.method !== 'GET' ? pathOf(page) : request.url
  const to = `/sign-in?next=${encodeURIComponent(from)}`
  return isPart ? reply.code(401).header('hx-redirect', to).send() : reply.redirect(to, 303)
}

function pathOf(url: string | readonly string[] | undefined): string {
  if (typeof url !== 'string' || !URL.canParse(url)) return '/'
  const { pathname, search } = new URL(url)
  return pathname + search
}

export const noSuchPage = () =>
  new AppError('not_found', 'There is no page at this address. Check the link, or begin at the front page.')

/** For the pages of operators; to everybody else they do not exist. */
export async function requireOperator(request: FastifyRequest): Promise<void> {
  if (request.signedIn?.role !== 'operator') throw noSuchPage()
}

/** Who looks at an image, which only some may see. */
export const viewerOf = ({ signedIn }: Pick<FastifyRequest, 'signedIn'>): Viewer | undefined =>
  signedIn ? { accountId: signedIn.caller.account.id, isOperator: signedIn.role === 'operator' } : undefined

/** The session of a request that `requireSignedIn` has let through. */
export function sessionOf({ signedIn }: FastifyRequest): SignedIn {
  if (!signedIn) throw new Error('this route is not behind requireSignedIn')
  return signedIn
}
