import type { ErrorCode } from '../../core/errors.js'
import type { App } from '../../http/shared/fastify-app.js'
import type { Meters } from './meters.js'

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60]

/** The routes that submit, and nothing else. */
const SUBMIT_ROUTES: readonly string[] = ['/api/v1/generate', '/v1/images/generate', '/v1/images/generations']

/** Refused before a submit reaches the core, which counts what else becomes of it. */
export const REFUSED_BEFORE = [
  ...['unauthorized', 'forbidden', 'rate_limited', 'invalid_request', 'payload_too_large', 'unsupported_media_type'],
] as const satisfies readonly ErrorCode[]

const REFUSALS: ReadonlySet<unknown> = new Set(REFUSED_BEFORE)

/** Requests by route; a path or a query never becomes a label. */
export function httpMetrics({ counter, histogram }: Meters, refusedSubmit: (code: string) => void) {
  const requests = counter('http_requests_total', 'Requests that were answered.', ['method', 'route', 'status'])
  const seconds = histogram(
    'http_request_duration_seconds',
    'From the first byte of a request to the end of its answer, which a stream or a long poll holds open.',
    ['method', 'route'],
    SECONDS,
  )

  return (app: App): void => {
    app.addHook('onResponse', (request, reply, next) => {
      next()
      const { method } = request
      const route = nameOf(request.routeOptions.url)
      requests.inc({ method, route, status: reply.statusCode })
      seconds.observe({ method, route }, reply.elapsedTime / 1000)
      if (reply.statusCode < 400 || method !== 'POST' || !SUBMIT_ROUTES.includes(route)) return
      const code = reply.getHeader('x-error-code')
      if (REFUSALS.has(code)) refusedSubmit(String(code))
    })
  }
}

/** The names of assets change with each version. */
const nameOf = (route: string | undefined): string =>
  route === undefined ? 'none' : route.startsWith('/assets/') ? '/assets/:file' : route
