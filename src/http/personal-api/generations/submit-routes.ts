import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { requireAvailable } from '../../../core/catalog/model-version.js'
import { generationIdMissing } from '../../../core/errors.js'
import type { GenerationView } from '../../../core/generations/generation.js'
import { dryRunGeneration } from '../../../core/generations/submit/submit.js'
import { catalogRevisionOf, isReadAheadFresh } from '../../shared/authentication.js'
import type { App } from '../../shared/fastify-app.js'
import { idempotencyOf, nameIgnored, submitFor } from '../../shared/idempotency-key.js'
import type { PersonalApiPorts } from '../../shared/ports.js'
import { dryRunView, submitGenerationSchema, submittedView } from './submit-schemas.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** The account's active generation, read while the rate limit counts the request. */
    active: Promise<GenerationView | undefined> | undefined
  }
}

/** The submit, spec 4.3, and polling without an ID. */
export function submitRoutes(app: App, ports: PersonalApiPorts): void {
  const readAhead: onRequestHookHandler = (request, _reply, next) => {
    const { account, keyKind } = request.caller
    if (keyKind !== 'developer') request.active = ports.submissions.activeGeneration(account.id)
    // The submit sees it, unless the request is refused first.
    request.active?.catch(() => undefined)
    next()
  }
  const activeOf = async (request: FastifyRequest, reply: FastifyReply) => {
    const active = isReadAheadFresh(reply) ? await request.active : undefined
    // It may have been long in coming.
    return isReadAheadFresh(reply) ? active : undefined
  }

  app.decorateRequest('active', undefined)
  app.post('/generate', { schema: submitGenerationSchema, onRequest: readAhead }, async (request, reply) => {
    const { modelVersionId, ...drawing } = request.body
    const catalogRevision = catalogRevisionOf(request, reply)
    const model = async () => requireAvailable(await ports.models.find(modelVersionId, catalogRevision), modelVersionId)
    const asked = { ...drawing, model }
    if (request.query.dry_run) {
      const dryRun = await dryRunGeneration(ports, request.caller, asked)
      return nameIgnored(reply, dryRun.ignored).send(dryRunView(dryRun))
    }
    const idempotency = idempotencyOf(request, 'personal')
    const active = () => activeOf(request, reply)
    const submitted = await submitFor(request, reply, ports, { ...asked, lane: 'personal', idempotency, active })
    return reply.code(201).send(submittedView(submitted, app.pollUrl(submitted.id)))
  })

  for (const url of ['/generate', '/generate/'])
    app.get(url, async () => {
      throw generationIdMissing()
    })
}
