import { z } from 'zod'
import { invalidParameter } from '../../core/errors.js'
import { requireAccount } from '../../core/operator/accounts.js'
import { takeDown } from '../../core/operator/images.js'
import type { OperatorActions } from '../../core/operator/operator-actions.js'
import type { AuditResults } from '../../core/operator/overview.js'
import { markWrong } from '../../core/operator/refused-prompts.js'
import { personalRefusals } from '../shared/error-bodies.js'
import type { App } from '../shared/fastify-app.js'
import * as field from '../shared/fields.js'
import { viewOf } from '../shared/responses.js'
import { type ActPorts, act } from './acts.js'
import * as admin from './admin-fields.js'

const refusal = z
  .object({
    id: z.int(),
    at: z.iso.datetime(),
    username: z.string(),
    parameter: z.string().describe("The request's field"),
    category: z.string(),
    matched: z.array(z.string()),
    prompt: z.string(),
    wrong_at: z.iso.datetime().nullable(),
    wrong_by: z.string().nullable(),
  })
  .meta({ id: 'AdminRefusal' })
const refusalsSchema = {
  operationId: 'listRefusals',
  tags: ['Moderation'],
  summary: 'Refused prompts, newest first',
  description: 'Kept for 90 days.',
  querystring: z.strictObject({
    ...field.page(1),
    username: z.string().max(64).optional().describe('Of this account only'),
    category: z
      .string()
      .max(200)
      .refine(...field.validText('category'))
      .optional(),
  }),
  response: {
    200: z.object({ refusals: z.array(refusal), next_cursor: field.nextCursor }).meta({ id: 'AdminRefusalList' }),
    ...personalRefusals(400, 404),
  },
}
const repeated = z
  .object({ username: z.string(), count: z.int(), first_at: z.iso.datetime(), last_at: z.iso.datetime() })
  .meta({ id: 'AdminRepeatedRefusals' })
const repeatedSchema = {
  operationId: 'listRepeatedRefusals',
  tags: ['Moderation'],
  summary: 'Accounts with more than one refusal about minors in the last 30 days',
  description: 'Most refusals first.',
  querystring: z.strictObject({ limit: admin.limit }),
  response: {
    200: z.object({ accounts: z.array(repeated) }).meta({ id: 'AdminRepeatedRefusalList' }),
    ...personalRefusals(400),
  },
}
const wrongSchema = {
  operationId: 'markRefusalWrong',
  tags: ['Moderation'],
  summary: 'Say that a refusal was wrong',
  description: 'So that the rules can be corrected. A repeat keeps who said it first.',
  params: field.idParams("A refusal's ID"),
  headers: admin.POSTED,
  body: admin.reasonOnly,
  response: {
    200: z.object({ id: z.int(), wrong: z.boolean() }).meta({ id: 'AdminWrongRefusal' }),
    ...personalRefusals(400, 404, 409, 413, 415, 422),
  },
}

const takeDownSchema = {
  operationId: 'takeDownImage',
  tags: ['Images'],
  summary: 'Take an image down for good',
  description: 'Its file goes, the CDN is told, and its page says that it was removed, with the reason.',
  params: z.object({ slug: z.string().describe("The last part of the image's address") }),
  response: {
    200: z
      .object({ slug: z.string(), removed_at: z.iso.datetime(), reason: z.string().nullable() })
      .meta({ id: 'AdminRemovedImage' }),
    ...personalRefusals(400, 404),
  },
}

const recordedAct = z
  .object({
    id: z.int(),
    at: z.iso.datetime(),
    actor: z.string(),
    action: z.string(),
    target: z.string(),
    reason: z.string(),
  })
  .meta({ id: 'AdminAct' })
const actsSchema = {
  operationId: 'listActs',
  tags: ['Log'],
  summary: 'What operators did, and why, newest first',
  description: 'On the website, the command line and here.',
  querystring: z.strictObject(field.page(1)),
  response: {
    200: z.object({ acts: z.array(recordedAct), next_cursor: field.nextCursor }).meta({ id: 'AdminActList' }),
    ...personalRefusals(400),
  },
}

const auditResult = z
  .object({
    finished_at: z.iso.datetime(),
    took_ms: z.int(),
    checks: z.array(z.object({ name: z.string(), violations: z.int() })),
  })
  .meta({ id: 'AdminAuditResult' })
const auditSchema = {
  operationId: 'getAudit',
  tags: ['Log'],
  summary: 'What the last audit of the running service found',
  description: 'null until one has ended.',
  response: {
    200: z.object({ audit: auditResult.nullable() }).meta({ id: 'AdminAudit' }),
    ...personalRefusals(),
  },
}

export interface LogPorts extends ActPorts {
  readonly operatorActions: OperatorActions
  readonly auditResults: AuditResults
}

export function logRoutes(app: App, ports: LogPorts): void {
  const { administration, operatorActions, auditResults } = ports
  const { refusedPromptLog } = administration

  app.get('/moderation/refusals', { schema: refusalsSchema }, async ({ query }) => {
    const { username, category, limit, cursor: after } = query
    const accountId = username ? (await requireAccount(administration, username, { orDeleted: true })).id : undefined
    const { items, next } = await refusedPromptLog.list({ category, accountId }, { limit, after })
    return { refusals: items.map((it) => viewOf(refusal, it)), next_cursor: field.cursorOf(next) }
  })

  app.get('/moderation/repeated', { schema: repeatedSchema }, async ({ query }) => ({
    accounts: (await refusedPromptLog.repeated(query.limit)).map((it) => viewOf(repeated, it)),
  }))

  app.post('/moderation/refusals/:id/wrong', { schema: wrongSchema }, (request, reply) => {
    const id = /^\d{1,15}$/.test(request.params.id) ? Number(request.params.id) : 0
    if (id === 0) throw invalidParameter('id', 'The ID of a refusal is a whole number.')
    return act(request, reply, ports, async (acting) => {
      await markWrong(acting, id)
      return { body: { id, wrong: true } }
    })
  })

  app.delete('/images/:slug', { schema: takeDownSchema }, (request, reply) => {
    const { slug } = request.params
    return act(request, reply, ports, async (acting) => {
      const { at, reason } = await takeDown(acting, slug)
      return { body: { slug, removed_at: at, reason } }
    })
  })

  app.get('/acts', { schema: actsSchema }, async ({ query: { limit, cursor: after } }) => {
    const { items, next } = await operatorActions.list({ limit, after })
    return { acts: items.map((it) => viewOf(recordedAct, it)), next_cursor: field.cursorOf(next) }
  })

  app.get('/audit', { schema: auditSchema }, async () => {
    const last = await auditResults.last()
    if (!last) return { audit: null }
    const { finishedAt, tookMs, checks } = last
    const counts = checks.map(({ name, violations }) => ({ name, violations }))
    return { audit: { finished_at: finishedAt.toISOString(), took_ms: tookMs, checks: counts } }
  })
}
