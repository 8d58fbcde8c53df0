import type { CancelStore } from '../../core/generations/cancel.js'
import type { SubmitPorts } from '../../core/generations/submit/ports.js'
import type { EventCounter } from '../../http/shared/authentication.js'
import type { EndMetrics } from './end-metrics.js'
import { REFUSED_BEFORE } from './http-metrics.js'
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
          // A remote moderator names several.
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
