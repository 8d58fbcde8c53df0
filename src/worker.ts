/** Entry point: one worker process. */
import { type LoadWatchers, runProcess } from './entry.js'
import { startWorker } from './start-worker.js'

const load: LoadWatchers = {
  tracing: () => import('./tracing/open-tracing.js'),
  metrics: () => import('./metrics/open-metrics.js'),
}

// 25 s for what runs, some more to put it back and close.
await runProcess('worker', 35_000, load, startWorker)
