import type { InferenceBackend } from '../../core/generations/run/backend.js'
import type { RunOutcome, RunPorts } from '../../core/generations/run/run.js'
import { type EndMetrics, FAULTS } from './end-metrics.js'
import type { Meters } from './meters.js'

const SECONDS = [0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300]

/** What a worker's backends do. */
export function runMetrics({ counter, histogram }: Meters, ends: EndMetrics) {
  const seconds = histogram(
    'run_duration_seconds',
    'Inferences that succeeded: from the request to the answer of the GPU server.',
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
          const begunAt = performance.now()
          // The time so far is added once a second: an inference may take minutes.
          let addedAt = begunAt
          const add = () => {
            const now = performance.now()
            busy.inc(labels, (now - addedAt) / 1000)
            addedAt = now
          }
          const timer = setInterval(add, 1000).unref()
          let drawn = false
          const over = () => {
            if (drawn) return
            drawn = true
            clearInterval(timer)
            add()
          }
          const onDrawn = () => {
            over()
            options.onDrawn?.()
          }
          try {
            const images = await backend.generate(request, { ...options, onDrawn })
            seconds.observe({ ...labels, model }, (performance.now() - begunAt) / 1000)
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
