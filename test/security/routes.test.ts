import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { buildBareApp } from '../support/bare-app.js'

/** Spec 4.1 to 4.6; a GET answers HEAD, too. */
const OF_THE_SPEC = [
  'GET /api/v1/account',
  'GET /api/v1/generate',
  'GET /api/v1/generate/',
  'GET /api/v1/generate/:id',
  'GET /api/v1/models',
  'POST /api/v1/generate',
  'POST /v1/images/generate',
]
const OF_PERSONAL_API = [
  'DELETE /api/v1/images/:id',
  'GET /api/v1/capabilities',
  'GET /api/v1/credits',
  'GET /api/v1/generations',
  'GET /api/v1/images',
  'GET /api/v1/images/:id',
  'GET /api/v1/images/:id/file',
  'GET /api/v1/usage',
  'POST /api/v1/generate/:id/cancel',
  'POST /api/v1/moderate',
]
const OF_ADMINISTRATION = [
  ...['GET /admin/v1/accounts', 'POST /admin/v1/accounts'],
  ...['DELETE', 'GET', 'PATCH'].map((method) => `${method} /admin/v1/accounts/:name`),
  ...['DELETE', 'PUT'].map((method) => `${method} /admin/v1/accounts/:name/subscription`),
  'GET /admin/v1/accounts/:name/credits/history',
  'POST /admin/v1/accounts/:name/credits/adjustments',
  'POST /admin/v1/accounts/:name/credits/grants',
  ...['GET /admin/v1/accounts/:name/keys', 'POST /admin/v1/accounts/:name/keys'],
  'GET /admin/v1/accounts/:name/usage',
  ...['DELETE /admin/v1/keys/:id', 'PATCH /admin/v1/keys/:id'],
  ...['POST /admin/v1/accounts/import', 'PUT /admin/v1/accounts/:name/password'],
  ...['POST /admin/v1/accounts/:name/sign-in-link', 'POST /admin/v1/accounts/:name/webhook-secret'],
  ...['GET /admin/v1/plans', 'POST /admin/v1/plans/import'],
  ...['GET /admin/v1/plans/:name', 'DELETE /admin/v1/plans/:name'],
  ...['GET /admin/v1/packs', 'POST /admin/v1/packs/import', 'DELETE /admin/v1/packs/:name'],
  ...['GET /admin/v1/payments', 'POST /admin/v1/payments/customers/:customer/match', 'POST /admin/v1/payments/retry'],
  ...['GET /admin/v1/payments/unmatched', 'DELETE /admin/v1/payments/unmatched/:id'],
  ...['GET /admin/v1/models', 'POST /admin/v1/models/import', 'PATCH /admin/v1/models/:id'],
  ...['GET /admin/v1/generations', 'GET /admin/v1/generations/:id'],
  ...['cancel', 'run-again'].map((act) => `POST /admin/v1/generations/:id/${act}`),
  'GET /admin/v1/queue',
  ...['GET', 'POST', 'DELETE'].map((method) => `${method} /admin/v1/pauses`),
  ...['GET /admin/v1/moderation/refusals', 'GET /admin/v1/moderation/repeated'],
  'POST /admin/v1/moderation/refusals/:id/wrong',
  'DELETE /admin/v1/images/:slug',
  ...['GET /admin/v1/reports', 'DELETE /admin/v1/reports/:slug'],
  ...['GET /admin/v1/acts', 'GET /admin/v1/audit'],
]
const OF_OPENAI = ['GET /v1/models', 'GET /v1/models/:id', 'POST /v1/images/generations']
const WEBHOOKS = [
  'DELETE /api/v1/webhooks/:id',
  'GET /api/v1/webhooks',
  'GET /api/v1/webhooks/:id',
  'GET /api/v1/webhooks/:id/deliveries',
  'POST /api/v1/webhooks',
  'POST /api/v1/webhooks/:id/rotate-secret',
  'POST /api/v1/webhooks/:id/test',
]
/** Streams, which have no HEAD. */
const STREAMS = [
  'GET /api/v1/generate/:id/events',
  'GET /playground/:id/events',
  'GET /gallery/download',
  'GET /admin/v1/accounts/:name/export',
]
const FOR_AGENTS = ['POST /mcp']
/** Without a key: health checks, the API's description, images for those who have their link, the website. */
const WITHOUT_KEY = [
  'GET /',
  'GET /cdn/:file',
  'GET /docs',
  'GET /docs.md',
  'GET /health',
  'GET /image/:slug',
  'GET /client.tgz',
  'GET /llms.txt',
  'GET /openapi.json',
  'GET /admin/v1/openapi.json',
  'GET /ready',
  'GET /favicon.ico',
  'GET /covers/:id/:file',
  'GET /version',
]

/** Of the website, for people; those that change anything refuse what another website sends. */
const PAGES = [
  ...['GET /sign-in', 'POST /sign-in', 'GET /sign-in/link', 'POST /sign-in/link', 'POST /sign-out'],
  ...['POST /sign-in/mail', 'GET /sign-in/oidc', 'GET /sign-in/oidc/callback', 'GET /sign-up', 'POST /sign-up'],
  ...['GET /confirm-email', 'POST /confirm-email', 'GET /welcome'],
  ...['GET /playground', 'POST /playground', 'POST /playground/check', 'POST /playground/:id/cancel'],
  ...['GET /playground/:id/result', 'GET /playground/hold'],
  ...['POST /playground/settings', 'POST /playground/settings/:id'],
  ...['GET /playground/up-next', 'POST /playground/up-next', 'POST /playground/up-next/:id'],
  'GET /account',
  ...['POST /account/billing', 'POST /account/billing/plan', 'POST /account/billing/pack', 'GET /pricing'],
  'POST /account/password',
  ...['', '/again', '/cancel'].map((act) => `POST /account/email${act}`),
  'POST /account/language',
  ...['POST /account/mails', 'POST /account/new-images', 'POST /account/export'],
  ...['GET /account/delete', 'POST /account/delete', 'GET /account/deleted'],
  'POST /account/sessions/:id/end',
  'POST /account/sessions/end',
  ...['GET /usage', 'GET /usage.csv'],
  'GET /keys',
  'POST /keys',
  'POST /keys/:id/rename',
  'POST /keys/:id/limits',
  'POST /keys/:id/revoke',
  ...['', '/:id/rename', '/:id/revoke'].map((act) => `POST /keys/operator${act}`),
  'GET /webhooks',
  'POST /webhooks',
  'GET /webhooks/:id',
  'GET /webhooks/:id/deliveries',
  'POST /webhooks/:id/delete',
  'POST /webhooks/:id/rotate-secret',
  'POST /webhooks/:id/test',
  ...['GET /gallery', 'POST /gallery/selection', 'POST /gallery/undo'],
  ...['GET /gallery/folders', 'POST /gallery/folders'],
  ...['POST /gallery/folders/:id', 'POST /gallery/folders/:id/delete'],
  'GET /compare/:left/:right',
  'GET /image/:slug/download',
  ...['GET /image/:slug/report', 'POST /image/:slug/report'],
  ...['POST /image/:slug/privacy', 'POST /image/:slug/revoke-links'],
  ...['delete', 'favourite', 'unfavourite', 'folders'].map((act) => `POST /image/:slug/${act}`),
]
const OPERATOR_PAGES = [
  'GET /operator',
  'GET /operator/generations/:id',
  'GET /operator/live',
  'GET /operator/log',
  'GET /operator/models',
  'GET /operator/models/:id',
  'GET /operator/models/workflow',
  ...['GET /operator/models/import', 'POST /operator/models/import'],
  ...['cover', 'cover-file', 'cover-remove', 'move'].map((act) => `POST /operator/models/:id/${act}`),
  ...['GET /operator/plans', 'POST /operator/plans', 'POST /operator/plans/retire'],
  ...['GET /operator/payments', ...['match', 'retry', 'dismiss'].map((act) => `POST /operator/payments/${act}`)],
  ...['GET /operator/figures', 'GET /operator/figures.csv'],
  'POST /operator/generations/:id/cancel',
  'POST /operator/generations/:id/run-again',
  'POST /operator/models/:id',
  'POST /operator/models/workflow',
  'POST /operator/pause',
  'POST /operator/resume',
  ...['GET /operator/users', 'POST /operator/users', 'GET /operator/users/:username'],
  ...[
    'credits',
    'credits/correct',
    'subscription',
    'subscription/remove',
    'keys/revoke',
    'sessions/end',
    'generations/cancel',
  ].map((act) => `POST /operator/users/:username/${act}`),
  ...['role', 'email', 'delete', 'keys', 'sign-in-link'].map((act) => `POST /operator/users/:username/${act}`),
  ...['GET /operator/moderation', 'GET /operator/moderation/repeated', 'POST /operator/moderation/:id/wrong'],
  ...['GET /operator/images', 'GET /operator/images/removed', 'GET /operator/images/:slug', 'POST /operator/images'],
  ...['GET /operator/reports', ...['take-down', 'dismiss'].map((act) => `POST /operator/reports/:slug/${act}`)],
  'GET /operator/mails',
  'GET /operator/api',
]

/** What pages load. */
const isAsset = (route: string) => /^(GET|HEAD) \/assets\/[a-z-]+\.[\w-]{12}\.(css|js|svg)$/.test(route)

/** Reads Fastify's drawing of its routes: four columns a level, the methods in brackets behind the path. */
function routesOf(drawn: string): string[] {
  const parents: string[] = []
  return drawn.split('\n').flatMap((line) => {
    const found = /^([│├└─ ]*)(\S*)(?: \(([A-Z, ]+)\))?/.exec(line)
    if (!found || line === '') return []
    const [, indent = '', part = '', methods = ''] = found
    const depth = indent.length / 4
    parents[depth] = `${parents[depth - 1] ?? ''}${part}`
    return methods === '' ? [] : methods.split(', ').map((method) => `${method} ${parents[depth]}`)
  })
}

describe('the routes of the server', () => {
  it('are exactly those listed here', async () => {
    const app = await buildBareApp()
    await app.ready()
    const routes = routesOf(app.printRoutes({ includeMeta: false }))
    await app.close()
    const known = [
      ...OF_THE_SPEC,
      ...OF_PERSONAL_API,
      ...OF_ADMINISTRATION,
      ...WEBHOOKS,
      ...OF_OPENAI,
      ...FOR_AGENTS,
      ...WITHOUT_KEY,
      ...PAGES,
      ...OPERATOR_PAGES,
    ]
    const heads = known.filter((route) => route.startsWith('GET ')).map((route) => route.replace('GET', 'HEAD'))
    expect(routes.filter((route) => !isAsset(route)).sort()).toEqual([...known, ...STREAMS, ...heads].sort())
  })

  it('are all that is served: nothing else in src/ opens an HTTP server, except for health checks', () => {
    const src = fileURLToPath(new URL('../../src', import.meta.url))
    const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file))
    const serving = files.filter((file) =>
      /\bfastify\(|^import (?!type |\{ Agent \} ).*from 'node:http[s2]?'|bull-board/m.test(
        readFileSync(join(src, file), 'utf8'),
      ),
    )
    // The app of openapi.ts never listens.
    expect(serving.sort()).toEqual(['http/server/app.ts', 'http/server/openapi.ts', 'process/health.ts'])
  })
})

describe('the server’s limits for connections', () => {
  it('are set, because Node’s own would let a client take as long and as much as it likes', async () => {
    const app = await buildBareApp()
    expect(app.server).toMatchObject({
      headersTimeout: 10_000,
      requestTimeout: 15_000,
      keepAliveTimeout: 65_000,
      // Longer than Create Image waits.
      timeout: 150_000,
    })
    expect(app.initialConfig).toMatchObject({ bodyLimit: 65_536 })
    await app.close()
  })
})
