import type { FastifyRequest } from 'fastify'
import { AppError } from '../../core/errors.js'

/**
 * Refuses what another website makes a browser send (CSRF): by Sec-Fetch-Site, else by Origin, like
 * CrossOriginProtection of Go 1.25. The session cookie's SameSite=Lax is a second line of defence.
 * @throws forbidden
 */
export function refuseCrossSite(request: FastifyRequest, baseUrl: string): void {
  if (request.method === 'GET' || request.method === 'HEAD') return
  if (keepsNoSession(request.headers.origin, baseUrl))
    throw new AppError(
      'forbidden',
      `This page was opened over http://, where your browser keeps no session. Open ${baseUrl} instead.`,
    )
  if (isSameOrigin(request, baseUrl)) return
  throw new AppError(
    'forbidden',
    'This request came from another website, so nothing was done. Open the page here and repeat.',
  )
}

/** Browsers drop our cookies, which are for https, without a word: who signed in would be signed out at once. */
function keepsNoSession(origin: string | undefined, baseUrl: string): boolean {
  if (!baseUrl.startsWith('https:') || !origin?.startsWith('http:') || !URL.canParse(origin)) return false
  return !/^(localhost|127\.0\.0\.1|\[::1\])$/.test(new URL(origin).hostname)
}

function isSameOrigin({ headers, host }: FastifyRequest, baseUrl: string): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || site === 'none'
  // Browsers send Sec-Fetch-Site only over https and to the loopback address.
  const { origin } = headers
  if (origin === undefined || !URL.canParse(origin)) return false
  // A proxy may send a host name of its own instead of the one that the browser asked for.
  return new URL(origin).host === host || new URL(origin).origin === baseUrl
}
