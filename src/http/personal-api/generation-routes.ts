import { requireAvailable } from '../../catalog/model-version.js'
import { generationIdMissing } from '../../errors.js'
import { dryRunGeneration } from '../../generation/submit/submit.js'
import type { App } from '../fastify-app.js'
import { cursorOf } from '../fields.js'
import type { PersonalApiPorts } from '../ports.js'
import { idempotencyOf, submitFor } from '../submission.js'
import * as schemas from './generation-schemas.js'

/** The submit, spec 4.3, and polling without an ID. */
export function submitRoutes(app: App, ports: PersonalApiPorts): void {
  app.post('/generate', { schema: schemas.submitGeneration }, async (request, reply) => {
    const { modelVersionId, request: generation } = request.body
    const model = async () => requireAvailable(await ports.models.find(modelVersionId), modelVersionId)
    const asked = { request: generation, model }
    if (request.query.dry_run)
      return reply.send(schemas.dryRunView(await dryRunGeneration(ports, request.caller, asked)))
    const idempotency = idempotencyOf(request, 'personal')
    const submitted = await submitFor(request, reply, ports, { ...asked, lane: 'personal', idempotency })
    return reply.code(201).send(schemas.submittedView(submitted, app.pollUrl(submitted.id)))
  })

  for (const url of ['/generate', '/generate/'])
    app.get(url, async () => {
      throw generationIdMissing()
    })
}

/** Everything that an account has submitted, on either interface and with any of its keys. */
export function generationRoutes(app: App, { history, images }: PersonalApiPorts): void {
  app.get('/generations', { schema: schemas.listGenerations }, async ({ caller, query }, reply) => {
    const { limit, cursor: after, model_version_id: modelVersionId, ...filter } = query
    const page = { limit, after }
    const { items, next } = await history.generations(caller.account.id, { ...filter, modelVersionId }, page)
    reply.header('cache-control', 'no-store')
    return { generations: items.map((it) => schemas.pastGenerationView(it, images.url)), next_cursor: cursorOf(next) }
  })
}
