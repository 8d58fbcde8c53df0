import { LACKING } from '../../core/generations/failure-reason.js'
import type { PutBackReason } from '../../core/generations/run/ports.js'
import type { Meters } from './meters.js'

/** Of attempts that failed or were put back. */
export const FAULTS = Object.keys({
  ...{ unavailable: true, busy: true, auth: true, unusable: true, lost: true, timeout: true, oom: true },
  ...{ backend_fault: true, bad_output: true, invalid_request: true, unsupported: true, model_missing: true },
  ...{ canceled: true, internal: true, store_failed: true, gpu_not_free: true, worker_leaving: true },
  ...{ lease_in_doubt: true, worker_lost: true },
} satisfies Record<PutBackReason, true>)

const REASONS = [
  'deadline',
  'image_refused',
  'image_unchecked',
  ...Object.keys(LACKING).map((lacking) => `no_${lacking}`),
  ...FAULTS,
]

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
