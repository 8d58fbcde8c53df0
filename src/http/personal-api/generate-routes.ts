import { z } from 'zod'
import { requireAvailable } from '../../catalog/model-version.js'
import { generationIdMissing } from '../../errors.js'
import { sayWhenFree } from '../../generation/follow/eta.js'
import { dryRunGeneration } from '../../generation/submit/dry-run.js'
import { submitGeneration } from '../../generation/submit/submit.js'
import type { App } from '../fastify-app.js'
import { idempotencyKeyHeader, idempotencyOf } from '../idempotency.js'
import { tellSubmitted } from '../submitted-headers.js'
import { dryRun, dryRunView, submitQuery } from './dry-run.js'
import { refusals } from './envelope.js'
import type { PersonalApiOptions } from './plugin.js'
import { generateBody } from './schemas.js'
import { submitted, submittedView } from './views.js'

/** Any string: what is no ID is answered like one that is not found. */
export const generationParams = z.object({ id: z.string().describe('The ID of the generation') })

/** Spec 4.3; a poll without an ID, too. */
export function generateRoutes(app: App, ports: PersonalApiOptions['ports']): void {
  app.post(
    '/generate',
    {
      schema: {
        operationId: 'submitGeneration',
        tags: ['Generations'],
        summary: 'Submit a generation',
        description:
          'Charges its credits and queues it. One may be active at a time. With `dry_run=true` nothing is charged or ' +
          'queued: the same checks, and the price.',
        headers: idempotencyKeyHeader,
        querystring: submitQuery,
        body: generateBody,
        response: { 200: dryRun, 201: submitted, ...refusals(400, 402, 404, 409, 413, 415, 422) },
      },
    },
    async (request, reply) => {
      const { modelVersionId, request: asked } = request.body
      const model = async () => requireAvailable(await ports.models.find(modelVersionId), modelVersionId)
      if (request.query.dry_run) {
        return reply.send(dryRunView(await dryRunGeneration(ports, request.caller, { request: asked, model })))
      }
      const submitting = submitGeneration(ports, request.caller, {
        lane: 'personal',
        request: asked,
        model,
        idempotency: idempotencyOf(request, 'personal'),
      })
      const generation = await sayWhenFree(ports, request.caller.account, submitting)
      tellSubmitted(reply, generation)
      return reply.code(201).send(submittedView(generation, app.pollUrl(generation.id)))
    },
  )

  for (const url of ['/generate', '/generate/']) {
    app.get(url, async () => {
      throw generationIdMissing()
    })
  }
}
