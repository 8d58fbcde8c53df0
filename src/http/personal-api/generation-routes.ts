import { type CancelPorts, cancelGeneration } from '../../generation/cancel.js'
import { CANCELED } from '../../generation/failure-reason.js'
import { findOwned, hasEnded, type PollPorts, pollGeneration } from '../../generation/follow/poll.js'
import type { HistoryStore } from '../../generation/library/history.js'
import type { ImageStore } from '../../generation/ports.js'
import type { App } from '../fastify-app.js'
import { cursorOf } from '../query-fields.js'
import { cancelGenerationSchema, listGenerationsSchema, pastGenerationView, polledView } from './generation-schemas.js'

interface ListPorts {
  readonly history: HistoryStore
  readonly images: Pick<ImageStore, 'url'>
}

/** Everything that an account has submitted, on either interface and with any of its keys. */
export function generationRoutes(app: App, { history, images }: ListPorts): void {
  app.get('/generations', { schema: listGenerationsSchema }, async ({ caller, query }, reply) => {
    const { limit, cursor, status, model_version_id: modelVersionId, since, until } = query
    const filter = { status, modelVersionId, since, until }
    const { items, next } = await history.generations(caller.account.id, filter, { limit, after: cursor })
    reply.header('cache-control', 'no-store')
    return { generations: items.map((it) => pastGenerationView(it, images.url)), next_cursor: cursorOf(next) }
  })
}

export type CancelRoutePorts = PollPorts & CancelPorts & Pick<ListPorts, 'images'>

/** Ends a generation for its owner. The scope drops bodies. */
export function cancelRoutes(app: App, ports: CancelRoutePorts): void {
  app.post('/generate/:id/cancel', { schema: cancelGenerationSchema }, async ({ caller, params }, reply) => {
    const before = await findOwned(ports, caller.account, params.id)
    if (!hasEnded(before)) await cancelGeneration(ports, params.id, CANCELED, { onlyQueued: false })
    reply.header('cache-control', 'no-store')
    return polledView(await pollGeneration(ports, caller.account, params.id), ports.images.url)
  })
}
