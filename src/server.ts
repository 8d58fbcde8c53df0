/** Entry point: the HTTP server. */
import { runProcess } from './entry.js'
import { startServer } from './start-server.js'

/** With replicas there is a load balancer, which needs a moment to send its requests elsewhere. */
const NOTICE_MS = 1500

// Create Image waiters are served for up to 25 s of the drain.
await runProcess('server', 34_000, (config, log) =>
  startServer(config, log, { noticeMs: config.redisUrl ? NOTICE_MS : 0 }),
)
