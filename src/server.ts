/** Entry point: the HTTP server. */
import { runProcess } from './entry.js'
import { startServer } from './start-server.js'

// Create Image waiters are served for up to 25 s of the drain.
await runProcess('server', 32_000, startServer)
