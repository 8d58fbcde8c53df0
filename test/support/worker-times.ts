/** Times for workers in tests: `service.worker({ times: QUICK })`. */
import type { WorkerOptions } from '../../src/process/start-worker.js'

type Times = NonNullable<WorkerOptions['times']>

/** What a worker waits for seconds, it waits a moment. */
export const QUICK: Times = {
  checkMs: 200,
  probeMs: 20,
  probeCapMs: 200,
  leftOutMs: 20,
  lacksMs: 300,
  retryMs: 20,
  droppedMs: 20,
  storeForMs: 1000,
  pollMs: 100,
}

const HOUR_MS = 3_600_000

/** It never looks for work by itself: what it starts, it was rung, called or notified for. */
export const ONLY_WHEN_CALLED: Times = { checkMs: HOUR_MS, pollMs: HOUR_MS }
