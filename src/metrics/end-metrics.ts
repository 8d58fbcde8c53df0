import { LACKING } from '../generation/failure-reason.js'
import type { Meters } from './meters.js'

/** Of failures that no fault of a backend led to. */
const REASONS = ['canceled', 'worker_lost', 'deadline', ...Object.keys(LACKING).map((lacking) => `no_${lacking}`)]

export type EndMetrics = ReturnType<typeof endMetrics>

/** How generations end, whoever ends them. */
export function endMetrics({ counter }: Meters) {
  const succeeded = counter('generations_succeeded_total', 'Generations that succeeded, by model file.', ['model'])
  const failures = counter('generations_failed_total', 'Generations that failed, by reason.', ['reason'], REASONS)
  const refunded = counter('credits_refunded_total', 'Credits given back.')
  return {
    succeeded: (model: string) => succeeded.inc({ model }),
    failed: (reason: string, credits: number) => {
      failures.inc({ reason })
      refunded.inc(credits)
    },
  }
}
