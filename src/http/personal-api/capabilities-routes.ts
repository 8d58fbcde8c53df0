import type { ModelStore } from '../../catalog/model-version.js'
import type { App } from '../fastify-app.js'
import { etagOf, isKnownTag } from '../response-headers.js'
import { capabilitiesView, getCapabilitiesSchema, type RateLimit } from './capabilities-schemas.js'

/** What may be asked for, as data: the same numbers that requests are checked against. */
export function capabilitiesRoutes(app: App, models: ModelStore, rateLimit: RateLimit): void {
  app.get('/capabilities', { schema: getCapabilitiesSchema }, async (request, reply) => {
    const body = capabilitiesView(await models.listEnabled(), rateLimit)
    const etag = etagOf(body)
    reply.header('etag', etag).header('cache-control', 'private, no-cache')
    const unchanged = isKnownTag(request.headers['if-none-match'], etag)
    return unchanged ? reply.code(304).send(null) : reply.code(200).send(body)
  })
}
