import { serviceUnavailable } from '../errors.js'
import type { App } from './app.js'

/** For load balancers and compose: no key, no limit. */
export function healthRoutes(app: App, ready: () => Promise<boolean>): void {
  app.get('/health', async () => ({ status: 'ok' }))
  app.get('/ready', async () => {
    if (!(await ready())) throw serviceUnavailable(2)
    return { status: 'ready' }
  })
}
