import type { EndedGeneration } from '../../core/generations/cancel.js'
import type { ReconcilePorts } from '../../core/generations/repair/ports.js'
import type { InferenceBackend } from '../../core/generations/run/backend.js'
import type { PutBackReason } from '../../core/generations/run/ports.js'
import type { RunOutcome, RunPorts } from '../../core/generations/run/run.js'
import { LACKING } from '../../core/generations/servable.js'
import type { Meters } from './meters.js'

/** Of attempts that failed or were put back. */
const FAULTS = Object.keys({
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

const SECONDS = [0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300]

/** What a worker's backends do. */
export function runMetrics({ counter, histogram }: Meters, ends: EndMetrics) {
  const seconds = histogram(
    'run_duration_seconds',
    'Inferences that succeeded: from their turn on the GPU server to its answer.',
    ['backend', 'model'],
    SECONDS,
  )
  const busy = counter('backend_busy_seconds_total', 'For how long a backend has drawn, well or badly.', ['backend'])
  const swaps = counter('model_swaps_total', 'How often a backend was asked for another model than before.', [
    'backend',
  ])
  const retries = counter('retries_total', 'Attempts that were put back into the queue, by reason.', ['reason'], FAULTS)

  return {
    backend: (backend: InferenceBackend): InferenceBackend => {
      const labels = { backend: backend.name }
      for (const shown of [busy, swaps]) shown.inc(labels, 0)
      let loaded: string | undefined
      return {
        ...backend,
        async generate(request, options) {
          const { model } = request
          if (loaded !== undefined && loaded !== model) swaps.inc(labels)
          loaded = model
          let begunAt: number | undefined
          let addedAt = 0
          const add = () => {
            const now = performance.now()
            busy.inc(labels, (now - addedAt) / 1000)
            addedAt = now
          }
          let timer: NodeJS.Timeout | undefined
          const begin = () => {
            if (begunAt !== undefined || drawn) return
            begunAt = addedAt = performance.now()
            // The time so far is added once a second: an inference may take minutes.
            timer = setInterval(add, 1000).unref()
          }
          let drawn = false
          const over = () => {
            if (!drawn && begunAt !== undefined) add()
            drawn = true
            clearInterval(timer)
          }
          // Behind another one it waits.
          if (options.after === undefined) begin()
          const onWaiting = (before: number) => {
            if (before === 0) begin()
            options.onWaiting?.(before)
          }
          const onDrawn = () => {
            over()
            options.onDrawn?.()
          }
          try {
            const images = await backend.generate(request, { ...options, onWaiting, onDrawn })
            if (begunAt !== undefined) seconds.observe({ ...labels, model }, (performance.now() - begunAt) / 1000)
            return images
          } finally {
            over()
          }
        },
      }
    },

    runs: <Ports extends RunPorts>(ports: Ports, { refundFailed }: { readonly refundFailed: boolean }): Ports => {
      /** Why the running attempts failed last, by generation. */
      const faults = new Map<string, string>()
      return {
        ...ports,
        runs: {
          ...ports.runs,
          async requeue(generation, how) {
            const next = await ports.runs.requeue(generation, how)
            if (next !== undefined) retries.inc({ reason: how.reason })
            return next
          },
        },
        onFault: (generation, kind) => faults.set(generation.id, kind),
        async around(generation, backend, work) {
          const { id, filename, metered, cost } = generation
          try {
            const outcome: RunOutcome = await (ports.around?.(generation, backend, work) ?? work())
            if (outcome === 'succeeded') ends.succeeded(filename)
            const reason = faults.get(id) ?? 'internal'
            const keeps = reason === 'image_refused' && ports.refundRefused === false
            if (outcome === 'failed') ends.failed(reason, refundFailed && !metered && !keeps ? cost : 0)
            return outcome
          } finally {
            faults.delete(id)
          }
        },
      }
    },
  }
}

const KINDS = ['requeued', 'enqueued', 'ended', 'redis_restored']

/** What the reconciler repairs. */
export function repairMetrics({ counter }: Meters, ends: EndMetrics) {
  const heals = counter('reconciler_heals_total', 'What the reconciler has repaired, by kind.', ['kind'], KINDS)
  const healed = (kind: string, times: number) => heals.inc({ kind }, times)

  return <Ports extends Pick<ReconcilePorts, 'rows' | 'wipeMark'>>(ports: Ports): Ports => {
    const { rows, wipeMark } = ports
    const ended = async <Ended extends EndedGeneration>(reason: (it: Ended) => string, work: Promise<Ended[]>) => {
      const all = await work
      for (const it of all) ends.failed(reason(it), it.refunded)
      healed('ended', all.length)
      return all
    }
    return {
      ...ports,
      rows: {
        ...rows,
        async requeueLost() {
          const requeued = await rows.requeueLost()
          healed('requeued', requeued.length)
          return requeued
        },
        failLost: () => ended(() => 'worker_lost', rows.failLost()),
        failExpired: () => ended(() => 'deadline', rows.failExpired()),
        failUnservable: () => ended(({ lacking }) => `no_${lacking}`, rows.failUnservable()),
        async markEnqueued(deliveries) {
          await rows.markEnqueued(deliveries)
          healed('enqueued', deliveries.length)
        },
      },
      wipeMark: {
        ...wipeMark,
        async finish() {
          // Each full pass sets the mark, even if Redis was not wiped.
          const wasWiped = !(await wipeMark.present())
          const finished = await wipeMark.finish()
          if (finished && wasWiped) healed('redis_restored', 1)
          return finished
        },
      },
    }
  }
}
