import { z } from 'zod'
import { CANCELED } from '../../core/generations/failure-reason.js'
import { GENERATION_ID } from '../../core/generations/generation.js'
import type { IdempotencyRequest, Submitted } from '../../core/generations/submit/ports.js'
import { requireAccount } from '../../core/operator/accounts.js'
import { cancelAsOperator, noSuchGeneration } from '../../core/operator/generations.js'
import type { ActedBy } from '../../core/operator/operator-actions.js'
import { personalRefusals } from '../shared/error-bodies.js'
import type { App } from '../shared/fastify-app.js'
import * as field from '../shared/fields.js'
import { hashOf, idempotencyKeyOf } from '../shared/idempotency-key.js'
import { viewOf } from '../shared/responses.js'
import { type ActPorts, act, actedBy } from './acts.js'
import * as admin from './admin-fields.js'

const tags = ['Generations']
const STATUSES = ['queued', 'processing', 'succeeded', 'failed'] as const

const listed = z
  .object({
    id: z.string(),
    status: z.enum(STATUSES),
    username: z.string(),
    lane: z.string(),
    metered: z.boolean(),
    model_version_id: z.int(),
    model_name: z.string(),
    batch_size: z.int(),
    credits_charged: z.int(),
    error: z.string().nullable(),
    created_at: z.iso.datetime(),
    started_at: z.iso.datetime().nullable(),
    finished_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'AdminListedGeneration' })
const listSchema = {
  operationId: 'listGenerations',
  tags,
  summary: 'Generations, newest first',
  description: 'Of all accounts, or of one.',
  querystring: z.strictObject({
    ...field.page(1),
    status: field.choice('status', STATUSES).optional(),
    username: z.string().max(64).optional().describe('Of this account only'),
  }),
  response: {
    200: z.object({ generations: z.array(listed), next_cursor: field.nextCursor }).meta({ id: 'AdminGenerationList' }),
    ...personalRefusals(400, 404),
  },
}

const ofGeneration = field.idParams("A generation's ID")
const showSchema = {
  operationId: 'getGeneration',
  tags,
  summary: 'All about one generation',
  description: 'Its parameters, images, attempts, credits and webhooks.',
  params: ofGeneration,
  response: {
    200: z
      .looseObject({ id: z.string(), status: z.enum(STATUSES), username: z.string(), error: z.string().nullable() })
      .meta({ id: 'AdminGeneration' }),
    ...personalRefusals(404),
  },
}
const cancelSchema = {
  operationId: 'cancelGeneration',
  tags,
  summary: 'End a queued or running generation and give its credits back',
  description: 'One that has ended is refused.',
  params: ofGeneration,
  headers: admin.POSTED,
  body: admin.reasonOnly,
  response: {
    200: z
      .object({ id: z.string(), status: z.enum(['failed']), error: z.string() })
      .meta({ id: 'AdminCanceledGeneration' }),
    ...personalRefusals(400, 404, 409, 413, 415, 422),
  },
}
const runAgainSchema = {
  operationId: 'runGenerationAgain',
  tags,
  summary: 'Submit a failed generation anew',
  description: 'With the same parameters, seed and key; its account is charged as for any other.',
  params: ofGeneration,
  headers: admin.POSTED,
  body: admin.reasonOnly,
  response: {
    201: z.object({ id: z.string().describe('Of the new one') }).meta({ id: 'AdminGenerationRunAgain' }),
    ...personalRefusals(400, 404, 409, 413, 415, 422),
  },
}

export interface GenerationPorts extends ActPorts {
  /** All about one, as JSON. */
  report(id: string): Promise<z.output<(typeof showSchema.response)[200]> | undefined>
  /** A submit has an idempotency of its own: it is charged in a transaction of its own. */
  runAgain(
    by: ActedBy,
    id: string,
    how: { readonly requestId: string; readonly idempotency: IdempotencyRequest | undefined },
  ): Promise<Submitted>
}

export function generationRoutes(app: App, ports: GenerationPorts): void {
  const { administration } = ports

  app.get('/generations', { schema: listSchema }, async ({ query }) => {
    const { status, username, limit, cursor: after } = query
    const accountId = username ? (await requireAccount(administration, username)).id : undefined
    const { items, next } = await administration.generations.list({ status, accountId }, { limit, after })
    return {
      generations: items.map(({ cost, ...it }) => viewOf(listed, { ...it, creditsCharged: cost })),
      next_cursor: field.cursorOf(next),
    }
  })

  app.get('/generations/:id', { schema: showSchema }, async ({ params: { id } }) => {
    const report = GENERATION_ID.test(id) ? await ports.report(id) : undefined
    if (!report) throw noSuchGeneration(id)
    return report
  })

  app.post('/generations/:id/cancel', { schema: cancelSchema }, (request, reply) => {
    const { id } = request.params
    return act(request, reply, ports, async (acting) => {
      await cancelAsOperator(acting, id)
      return { body: { id, status: 'failed' as const, error: CANCELED } }
    })
  })

  app.post('/generations/:id/run-again', { schema: runAgainSchema }, async (request, reply) => {
    const key = idempotencyKeyOf(request)
    const bodyHash = hashOf(`${request.method} ${request.url}`, request.body ?? {})
    const idempotency = key === undefined ? undefined : { key: `admin ${request.caller.keyId} ${key}`, bodyHash }
    const { id } = request.params
    const { id: submitted, replayed } = await ports.runAgain(actedBy(request), id, {
      requestId: request.id,
      idempotency,
    })
    if (replayed) reply.header('idempotent-replayed', 'true')
    reply.code(201)
    return { id: submitted }
  })
}
