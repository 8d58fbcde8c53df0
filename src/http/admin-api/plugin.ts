import { beyondScope, notOperatorNow } from '../../core/errors.js'
import { requireAccount } from '../../core/operator/accounts.js'
import { type AuthenticationOptions, registerAuthentication } from '../shared/authentication.js'
import type { App } from '../shared/fastify-app.js'
import { type RateLimit, registerRateLimit } from '../shared/rate-limit.js'
import { type AccountPorts, accountRoutes } from './account-routes.js'
import { requireMayAdminister } from './admin-fields.js'
import { creditRoutes } from './credit-routes.js'
import { type GenerationPorts, generationRoutes } from './generation-routes.js'
import { importRoutes } from './import-routes.js'
import { keyRoutes } from './key-routes.js'
import { type LogPorts, logRoutes } from './log-routes.js'
import { type ModelPorts, modelRoutes } from './model-routes.js'
import { packRoutes } from './pack-routes.js'
import { type PausePorts, pauseRoutes } from './pause-routes.js'
import { paymentRoutes } from './payment-routes.js'
import { planRoutes, type SalePorts } from './plan-routes.js'
import { reportRoutes } from './report-routes.js'
import { signInRoutes } from './sign-in-routes.js'

export type AdminPorts = AccountPorts & GenerationPorts & ModelPorts & SalePorts & PausePorts & LogPorts

export interface AdminApiOptions {
  readonly ports: AdminPorts
  readonly authentication: AuthenticationOptions
  /** Its window; how many requests fit into it is MAX_REQUESTS. */
  readonly limit: RateLimit
  /** The website's origin, of sign-in links. */
  readonly baseUrl: string
}

/** Of one key, in a window of the rate limit: a program that onboards people makes a few calls for each. */
const MAX_REQUESTS = 300

/** Administration over HTTP, for the keys of operators: one encapsulated scope under /admin/v1. */
export async function adminApi(app: App, { ports, authentication, limit, baseUrl }: AdminApiOptions): Promise<void> {
  registerAuthentication(app, { ...authentication, forOperators: true })
  await registerRateLimit(app, { ...limit, max: MAX_REQUESTS }, ({ caller }) => `rate:admin:${caller.keyId}`)
  // The first hook after the limiter and before the body is read.
  app.addHook('preParsing', ({ caller, method, routeOptions }, _reply, payload, next) => {
    const { operatorScope: scope } = caller
    if (!scope) return next(notOperatorNow())
    const { changes } = routeOptions.config
    const reads = method === 'GET' || method === 'HEAD'
    if (reads || scope === 'all' || scope === changes) return next(null, payload)
    next(beyondScope(scope, changes ? `the scope "${changes}" or "all"` : 'the scope "all"'))
  })
  app.addHook('onSend', async (_request, reply) => void reply.header('cache-control', 'no-store'))
  await app.register(async (accounts: App) => {
    accounts.addHook('preHandler', async (request) => {
      const { name } = request.params as { readonly name?: string }
      if (name === undefined || request.method === 'GET' || request.method === 'HEAD') return
      requireMayAdminister(request, await requireAccount(ports.administration, name, { orDeleted: true }))
    })
    accountRoutes(accounts, ports)
    signInRoutes(accounts, ports, baseUrl)
    creditRoutes(accounts, ports)
    keyRoutes(accounts, ports, authentication.keyPrefix)
  })
  importRoutes(app, ports)
  planRoutes(app, ports)
  packRoutes(app, ports)
  paymentRoutes(app, ports)
  modelRoutes(app, ports)
  generationRoutes(app, ports)
  pauseRoutes(app, ports)
  logRoutes(app, ports)
  reportRoutes(app, ports)
}
