/** Entry point: the HTTP server. */
import { type LoadWatchers, runProcess } from './process/run-process.js'
import { startServer } from './process/start-server.js'

/**
 * With replicas there is a load balancer, which needs a moment to send its requests elsewhere. Clients poll every 2 to
 * 3 s: within the notice each sends one more request on its connection, whose answer closes it.
 */
const NOTICE_MS = 4000

const load: LoadWatchers = {
  tracing: () => import('./telemetry/tracing/open-tracing.js'),
  metrics: () => import('./telemetry/metrics/open-metrics.js'),
}

// Create Image waiters are served for up to 25 s after the signal.
await runProcess('server', 34_000, load, (config, log, watchers) =>
  startServer(config, log, { ...watchers, noticeMs: config.redisUrl ? NOTICE_MS : 0 }),
)
