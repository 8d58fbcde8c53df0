import { pino } from 'pino'
import type { AccountStore } from '../../src/core/accounts/account.js'
import { release } from '../../src/core/release.js'
import { DEFAULT_SITE } from '../../src/core/site.js'
import { type AppOptions, buildApp } from '../../src/http/server/app.js'
import type { AuthenticationOptions, EventCounter } from '../../src/http/shared/authentication.js'
import type { App } from '../../src/http/shared/fastify-app.js'
import { mcp } from '../../src/mcp/plugin.js'
import { website } from '../../src/web/server/website.js'
import type { WebsitePorts } from '../../src/web/shared/ports.js'

export interface BareOptions extends Partial<AppOptions> {
  readonly accounts?: AccountStore
  /** Of guesses and of the rate limit. */
  readonly counter?: EventCounter
  readonly slowBatch?: AuthenticationOptions['slowBatch']
  /** Of pages that may call /mcp. */
  readonly mcpOrigins?: readonly string[]
}

const ORIGIN = 'http://easel.test'

/** The HTTP server as it is built, over nothing else: for what can be seen of it without a request that needs a port. */
export function buildBareApp(options: BareOptions = {}): Promise<App> {
  const refuse = () => {
    throw new Error('the bare app has no ports')
  }
  const nothing: never = new Proxy(refuse, { get: () => nothing }) as never
  const { accounts = nothing, counter = nothing, slowBatch, mcpOrigins = [] } = options
  const url = (slug: string) => `${ORIGIN}/cdn/${slug}.png`
  const images = { url, thumbnailUrl: url }
  const ports: WebsitePorts = new Proxy({} as never, { get: (_, name) => (name === 'images' ? images : nothing) })
  const limit = { counter, max: 10, windowSeconds: 10 }
  const authentication = { accounts, guesses: counter, keyPrefix: 'easel', ...(slowBatch && { slowBatch }) }
  const { signal } = new AbortController()
  return buildApp({
    log: pino({ level: 'silent' }),
    trustedProxies: [],
    site: DEFAULT_SITE,
    baseUrl: ORIGIN,
    apiBaseUrl: ORIGIN,
    openFile: async () => undefined,
    hiddenImages: nothing,
    privateImages: nothing,
    personal: { ports: nothing, authentication, limit, leaving: signal },
    createImage: { ports: nothing, authentication, limit, timeoutSeconds: 120, leaving: signal },
    admin: { ports: nothing, authentication, limit, baseUrl: ORIGIN },
    publishedImages: nothing,
    agents: mcp({
      ports: nothing,
      authentication,
      limit,
      baseUrl: ORIGIN,
      allowedOrigins: mcpOrigins,
      leaving: signal,
    }),
    website: website({
      ...{ ports, baseUrl: ORIGIN, apiBaseUrl: ORIGIN, rateLimit: limit, keyPrefix: 'easel', leaving: signal },
      languages: ['en'],
      assets: [],
      ...{ signUpIsOpen: true, takesPasswords: true, sendsMail: true },
      provider: {
        ...{ host: 'provider.test', secret: '', makesAccounts: true, signsOutThere: false },
        ...{ begin: refuse, end: refuse, signOutUrl: refuse },
      },
      ...{ shop: nothing, paymentOrigins: [] },
    }),
    ready: async () => true,
    moderationIsSilent: () => false,
    release: release(undefined),
    draining: { begun: signal, leaving: signal },
    ...options,
  })
}
