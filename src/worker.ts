/** Entry point: one worker process. */
import { type LoadWatchers, runProcess } from './process/run-process.js'
import { startWorker } from './process/start-worker.js'

const load: LoadWatchers = {
  tracing: () => import('./telemetry/tracing/open-tracing.js'),
  metrics: () => import('./telemetry/metrics/open-metrics.js'),
}

// 25 s for what runs, some more to put it back and close.
await runProcess('worker', 35_000, load, startWorker)
