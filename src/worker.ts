/** Entry point: one worker process. */
import { runProcess } from './entry.js'
import { startWorker } from './start-worker.js'

// 25 s for what runs, some more to put it back and close.
await runProcess('worker', 35_000, startWorker)
