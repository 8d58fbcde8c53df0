/** Entry point: the HTTP server. */
import { runProcess } from './entry.js'
import { startServer } from './start-server.js'

/**
 * With replicas there is a load balancer, which needs a moment to send its requests elsewhere. And clients poll every
 * 2 to 3 seconds: within the notice each uses its connection once more and is told that it was the last time.
 */
const NOTICE_MS = 4000

// Create Image waiters are served for up to 25 s after the signal.
await runProcess('server', 34_000, (config, log) =>
  startServer(config, log, { noticeMs: config.redisUrl ? NOTICE_MS : 0 }),
)
