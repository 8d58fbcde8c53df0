import { inferencePace } from '../inference-pace.js'
import { backendAttempts } from './attempts.js'
import type { InferenceBackend } from './backend.js'
import { backendHealth } from './backend-health.js'
import { claimLoop } from './claim-loop.js'
import { faultAttribution } from './fault-attribution.js'
import type { BackendRegistry } from './ports.js'
import { type RunPorts, WorkerCrash } from './run.js'
import { storeWatch } from './store-watch.js'
import { RUN_TIMES, type RunTimes } from './times.js'

/**
 * Runs one backend: claims what it can serve, one inference at a time, until nothing is left, and probes it while it is
 * down.
 * @param options `worker` names the process in claims and to the operator; `affinityMaxDelayMs`: see `Affinity`
 */
export function backendLoop(
  ports: RunPorts & { readonly backends: BackendRegistry },
  backend: InferenceBackend,
  options: {
    readonly worker: string
    readonly affinityMaxDelayMs: number
    readonly times?: Partial<RunTimes> | undefined
  },
) {
  const { worker, affinityMaxDelayMs } = options
  const times = { ...RUN_TIMES, ...options.times }
  const { runs, backends, images, log } = ports
  const attribution = faultAttribution(times)
  const pace = inferencePace()
  const store = storeWatch(images)
  const isServing = () => claims.isServing()
  // Claims what was enqueued while the backend was down or busy.
  const onUp = () => void claims.serve()
  const health = backendHealth({ backends, store, attribution, log, isServing, onUp }, backend, worker, times)
  const attempts = backendAttempts(ports, backend, { health, attribution, store, pace }, times)
  const claimant = { worker, backend: backend.name }
  const claims = claimLoop({ runs, health, attribution, attempts, pace, log }, claimant, affinityMaxDelayMs)

  /** No more claims; resolves when everything claimed has ended. */
  const drain = async (): Promise<void> => {
    void health.stop()
    await claims.drain()
    await attempts.ended()
  }

  return {
    /** Resolves after the first check of the backend; others follow. */
    start: health.check,
    serve: claims.serve,
    /** Something has been asked about the backend: it is checked and announced at once, if it is up. */
    look: health.announceSoon,
    drain,
    /** Requeues what runs and closes the backend. `crashed`: the reconciler requeues it and counts the death. */
    async close(crashed = false): Promise<void> {
      attempts.leave(
        crashed ? new WorkerCrash('the worker stops because of an uncaught error') : new Error('the worker is leaving'),
      )
      await drain()
      await health.stop()
      await backend.close()
    },
  }
}
