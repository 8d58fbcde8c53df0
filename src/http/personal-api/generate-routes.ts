import { requireAvailable } from '../../catalog/model-version.js'
import { generationIdMissing } from '../../errors.js'
import { pollGeneration } from '../../generation/poll.js'
import { submitGeneration } from '../../generation/submit.js'
import type { App } from '../app.js'
import { idempotencyOf } from '../idempotency.js'
import type { PersonalApiOptions } from './plugin.js'
import { generateBody } from './schemas.js'
import { polledView, submittedView } from './views.js'

/** Spec 4.3 and 4.4. */
export function generateRoutes(app: App, ports: PersonalApiOptions['ports'], baseUrl: string): void {
  app.post('/generate', { schema: { body: generateBody } }, async (request, reply) => {
    const { modelVersionId, request: asked } = request.body
    const submitted = await submitGeneration(ports, request.caller, {
      lane: 'personal',
      request: asked,
      model: async () => requireAvailable(await ports.models.find(modelVersionId), modelVersionId),
      idempotency: idempotencyOf(request, 'personal'),
    })
    if (submitted.replayed) reply.header('idempotent-replayed', 'true')
    return reply.code(201).send(submittedView(submitted, baseUrl))
  })

  for (const url of ['/generate', '/generate/']) {
    app.get(url, async () => {
      throw generationIdMissing()
    })
  }

  app.get<{ Params: { id: string } }>('/generate/:id', async (request, reply) => {
    const generation = await pollGeneration(ports, request.caller.account, request.params.id)
    if (generation.progress !== undefined) reply.header('x-progress', generation.progress.toFixed(2))
    reply.header('cache-control', 'no-store')
    return polledView(generation, (slug) => ports.images.url(slug))
  })
}
