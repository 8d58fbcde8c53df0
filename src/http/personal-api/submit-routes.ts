import { requireAvailable } from '../../catalog/model-version.js'
import { generationIdMissing } from '../../errors.js'
import { dryRunGeneration } from '../../generation/submit/submit.js'
import { catalogRevisionOf } from '../authentication.js'
import type { App } from '../fastify-app.js'
import type { PersonalApiPorts } from '../ports.js'
import { idempotencyOf, submitFor } from '../submission.js'
import { dryRunView, submitGenerationSchema, submittedView } from './submit-schemas.js'

/** The submit, spec 4.3, and polling without an ID. */
export function submitRoutes(app: App, ports: PersonalApiPorts): void {
  app.post('/generate', { schema: submitGenerationSchema }, async (request, reply) => {
    const { modelVersionId, request: generation } = request.body
    const catalogRevision = catalogRevisionOf(request, reply)
    const model = async () => requireAvailable(await ports.models.find(modelVersionId, catalogRevision), modelVersionId)
    const asked = { request: generation, model }
    if (request.query.dry_run) return reply.send(dryRunView(await dryRunGeneration(ports, request.caller, asked)))
    const idempotency = idempotencyOf(request, 'personal')
    const submitted = await submitFor(request, reply, ports, { ...asked, lane: 'personal', idempotency })
    return reply.code(201).send(submittedView(submitted, app.pollUrl(submitted.id)))
  })

  for (const url of ['/generate', '/generate/'])
    app.get(url, async () => {
      throw generationIdMissing()
    })
}
