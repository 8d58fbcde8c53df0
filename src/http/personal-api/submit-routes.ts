import { type ModelStore, requireAvailable } from '../../catalog/model-version.js'
import { generationIdMissing } from '../../errors.js'
import { sayWhenFree, type TimeLeftPorts } from '../../generation/follow/eta.js'
import type { SubmitPorts } from '../../generation/submit/submission.js'
import { dryRunGeneration, submitGeneration } from '../../generation/submit/submit.js'
import type { App } from '../fastify-app.js'
import { idempotencyOf } from '../idempotency-key.js'
import { setSubmittedHeaders } from '../response-headers.js'
import { dryRunView, submitGenerationSchema, submittedView } from './submit-schemas.js'

export type SubmitRoutePorts = SubmitPorts & TimeLeftPorts & { readonly models: ModelStore }

/** Spec 4.3, and polling without an ID. */
export function submitRoutes(app: App, ports: SubmitRoutePorts): void {
  app.post('/generate', { schema: submitGenerationSchema }, async (request, reply) => {
    const { modelVersionId, request: generation } = request.body
    const model = async () => requireAvailable(await ports.models.find(modelVersionId), modelVersionId)
    if (request.query.dry_run) {
      return reply.send(dryRunView(await dryRunGeneration(ports, request.caller, { request: generation, model })))
    }
    const idempotency = idempotencyOf(request, 'personal')
    const submission = { lane: 'personal', request: generation, model, idempotency } as const
    const submitting = submitGeneration(ports, request.caller, submission)
    const submitted = await sayWhenFree(ports, request.caller.account, submitting)
    setSubmittedHeaders(reply, submitted)
    return reply.code(201).send(submittedView(submitted, app.pollUrl(submitted.id)))
  })

  for (const url of ['/generate', '/generate/']) {
    app.get(url, async () => {
      throw generationIdMissing()
    })
  }
}
