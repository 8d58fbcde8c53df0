/**
 * Entry point: Easel's server or worker as `src/server.ts` and `src/worker.ts` start them, tied to the chaos run that
 * launched it, with its failpoints, without the guards that it has switched off, and with a Create Image time-out short
 * enough to be met.
 */
import { type LoadWatchers, runProcess } from '../../../src/process/run-process.js'
import { startServer } from '../../../src/process/start-server.js'
import { startWorker } from '../../../src/process/start-worker.js'
import { chaosOptions } from './chaos-ports.js'

/** Seconds; the schedule's longest outage of all GPUs is longer. */
const CREATE_IMAGE_TIMEOUT_SECONDS = 6

// Nothing in order: whoever launched us is gone, and so is what we work with.
process.on('disconnect', () => process.exit(1))

const load: LoadWatchers = {
  tracing: () => import('../../../src/telemetry/tracing/open-tracing.js'),
  metrics: () => import('../../../src/telemetry/metrics/open-metrics.js'),
}

const ready = () => void process.send?.('ready')

if (process.argv[2] === 'worker') {
  await runProcess('worker', 35_000, load, async (config, log) => {
    const worker = await startWorker(config, log, chaosOptions(process.env))
    ready()
    return worker
  })
} else {
  await runProcess('server', 32_000, load, async (config, log) => {
    const server = await startServer(config, log, {
      ...chaosOptions(process.env),
      createImageTimeoutSeconds: CREATE_IMAGE_TIMEOUT_SECONDS,
    })
    ready()
    return server
  })
}
