import { tmpdir } from 'node:os'
import { pino } from 'pino'
import { expect } from 'vitest'
import { type App, type AppOptions, buildApp } from '../../src/http/app.js'

/** The HTTP server as it is built, over nothing: for what can be seen of it without a request that needs a port. */
export function buildBareApp(options: Partial<AppOptions> = {}): Promise<App> {
  const nothing: never = new Proxy(() => expect.fail('the bare app has no ports'), { get: () => nothing }) as never
  const limit = { counter: nothing, max: 10, windowSeconds: 10 }
  const authentication = { accounts: nothing, guesses: nothing, keyPrefix: 'easel' }
  const { signal } = new AbortController()
  return buildApp({
    log: pino({ level: 'silent' }),
    trustedProxies: [],
    baseUrl: 'http://easel.test',
    apiBaseUrl: 'http://easel.test',
    storagePath: tmpdir(),
    personal: { ports: nothing, authentication, limit, leaving: signal },
    createImage: { ports: nothing, authentication, limit, timeoutSeconds: 120, leaving: signal },
    pages: { pictures: nothing, imageUrl: (slug) => `http://easel.test/cdn/${slug}.png`, baseUrl: 'http://easel.test' },
    ready: async () => true,
    draining: { begun: signal, leaving: signal },
    ...options,
  })
}
