import type { ErrorCode } from '../../core/errors.js'
import type { CancelStore } from '../../core/generations/cancel.js'
import type { SubmitPorts } from '../../core/generations/submit/ports.js'
import type { EventCounter } from '../../http/shared/authentication.js'
import type { App } from '../../http/shared/fastify-app.js'
import type { EndMetrics } from './generation-metrics.js'
import type { Meters } from './meters.js'

/** What else becomes of a submit, by its error codes. */
const REFUSED_LATER = [
  ...['subscription_required', 'not_found', 'model_unavailable', 'content_policy_violation', 'active_generation'],
  ...['insufficient_credits', 'idempotency_mismatch', 'idempotency_in_flight', 'unavailable', 'internal'],
]

const RATE_LIMIT_NAMES = ['personal', 'create', 'guess', 'website', 'mail', 'password', 'sign-in', 'sign-up']

/** What becomes of submits, whichever door they come through, and what they cost. */
export function submitMetrics({ counter }: Meters, ends: EndMetrics) {
  const outcomes = ['accepted', 'replayed', ...REFUSED_BEFORE, ...REFUSED_LATER]
  const submits = counter('submits_total', 'Submits, by what became of them.', ['outcome'], outcomes)
  const charged = counter('credits_charged_total', 'Credits charged at submits.')
  const hits = counter('moderation_hits_total', 'Submits that moderation refused, by category.', ['category'])
  const limited = counter(
    'rate_limited_total',
    'Requests and forms over a limit, by the limit.',
    ['limit'],
    RATE_LIMIT_NAMES,
  )
  const before: readonly string[] = REFUSED_BEFORE

  return {
    /** Counts a submit that did not reach the core. */
    refused: (outcome: string) => submits.inc({ outcome }),

    submits: <Ports extends SubmitPorts & { readonly cancels: CancelStore }>(ports: Ports): Ports => ({
      ...ports,
      onOutcome: (outcome: string) => {
        if (!before.includes(outcome)) submits.inc({ outcome })
      },
      refusedPrompts: {
        note: (refused) => {
          // A remote moderator may name several.
          for (const category of refused.category.split(', ')) hits.inc({ category })
          ports.refusedPrompts.note(refused)
        },
      },
      submissions: {
        ...ports.submissions,
        async insert(generation, options) {
          const inserted = await ports.submissions.insert(generation, options)
          if (inserted.outcome === 'inserted') charged.inc(generation.cost)
          return inserted
        },
      },
      cancels: {
        async cancel(...given) {
          const ended = await ports.cancels.cancel(...given)
          if (ended) ends.failed('canceled', ended.refunded)
          return ended
        },
      },
    }),

    limits: (limiter: EventCounter): EventCounter => ({
      async hit(key, windowMs, max) {
        const counted = await limiter.hit(key, windowMs, max)
        if (counted.current > max) limited.inc({ limit: limitOf(key) })
        return counted
      },
    }),
  }
}

/** Of a key like `rate:personal:ID`. What else a key holds is no label. */
function limitOf(key: string): string {
  const name = key.replace(/^rate:/, '').split(':', 1)[0] ?? ''
  return RATE_LIMIT_NAMES.includes(name) ? name : 'other'
}

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60]

/** The routes that submit, and nothing else. */
const SUBMIT_ROUTES: readonly string[] = ['/api/v1/generate', '/v1/images/generate', '/v1/images/generations']

/** Refused before a submit reaches the core, which counts what else becomes of it. */
const REFUSED_BEFORE = [
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
