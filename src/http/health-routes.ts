import { setTimeout as after } from 'node:timers/promises'
import { serviceUnavailable } from '../errors.js'
import type { App } from './app.js'

/** A Postgres that hangs is as good as none; who asks should not have to wait for its time-out. */
const READY_WITHIN_MS = 2000

/** For load balancers and compose: no key, no limit. */
export function healthRoutes(app: App, ready: () => Promise<boolean>): void {
  app.get('/health', async () => ({ status: 'ok' }))
  app.get('/ready', async () => {
    if (!(await Promise.race([ready(), after(READY_WITHIN_MS, false, { ref: false })]))) throw serviceUnavailable(2)
    return { status: 'ready' }
  })
}
