import { z } from 'zod'
import { OPERATOR_SCOPES } from '../../core/accounts/account.js'
import { invalidParameter } from '../../core/errors.js'
import { changeKey, createKey, type KeyChange, listKeys, revokeKey, usageOf } from '../../core/operator/keys.js'
import { personalRefusals } from '../shared/error-bodies.js'
import type { App } from '../shared/fastify-app.js'
import * as field from '../shared/fields.js'
import { viewOf } from '../shared/responses.js'
import { type ActPorts, act } from './acts.js'
import * as admin from './admin-fields.js'

const tags = ['Keys']
const KINDS = ['personal', 'developer', 'operator'] as const

const modelId = field.integer(
  'models',
  { min: 1, max: Number.MAX_SAFE_INTEGER },
  'models must be IDs of model versions.',
)
const limits = {
  name: admin.line('name', 100).optional().describe('What it is for'),
  until: admin.end('until').nullable().optional().describe('Its end; null: none'),
  monthly_limit: admin
    .amount('monthly_limit', 1)
    .nullable()
    .optional()
    .describe('Credits in a calendar month; null: all'),
  models: z
    .array(modelId, 'models must be a list.')
    .min(1, 'models must not be empty.')
    .nullable()
    .optional()
    .describe('IDs; null: all'),
}
const limitsBody = z.object(limits)

const changeOf = ({ name, until, monthly_limit, models }: z.output<typeof limitsBody>): KeyChange => ({
  ...(name !== undefined && { name }),
  ...(until !== undefined && { expiresAt: until }),
  ...(monthly_limit !== undefined && { monthlyLimit: monthly_limit }),
  ...(models !== undefined && { models }),
})

const key = z
  .object({
    id: z.string(),
    kind: z.enum(KINDS),
    name: z.string(),
    hint: z.string().describe('What it begins and ends with'),
    scope: z.enum(OPERATOR_SCOPES).nullable().describe('Of an operator key'),
    concurrency: z.int().nullable().describe('Of a developer key'),
    created_at: z.iso.datetime(),
    last_used_at: z.iso.datetime().nullable(),
    revoked_at: z.iso.datetime().nullable(),
    expires_at: z.iso.datetime().nullable(),
    monthly_limit: z.int().nullable(),
    models: z.array(z.int()).nullable(),
    spent_this_month: z.int(),
  })
  .meta({ id: 'AdminKey' })

const listSchema = {
  operationId: 'listKeys',
  tags,
  summary: "An account's keys, oldest first",
  description: 'Revoked ones, too.',
  params: admin.ofAccount,
  response: { 200: z.object({ keys: z.array(key) }).meta({ id: 'AdminKeyList' }), ...personalRefusals(404) },
}

const SHOWN_ONCE = 'The key was shown once, in the first answer: revoke this one and make another if it was lost.'
const createSchema = {
  operationId: 'createKey',
  tags,
  summary: 'Make a key',
  description:
    'The key is stored nowhere: a repeat with the same `Idempotency-Key` answers with its ID and without it.',
  params: admin.ofAccount,
  headers: admin.POSTED,
  body: field.body({
    kind: field.choice('kind', KINDS).default('personal'),
    ...limits,
    concurrency: field.integer('concurrency', { min: 1, max: 1000 }).optional().describe('Of a developer key'),
    scope: field.choice('scope', OPERATOR_SCOPES).optional().describe('Of an operator key; `all` unless given'),
    reason: admin.reason,
  }),
  response: {
    201: z
      .object({ id: z.string(), key: z.string().nullable(), note: z.string().optional().describe('In a repeat') })
      .meta({ id: 'AdminNewKey' }),
    ...personalRefusals(400, 404, 409, 413, 415, 422),
  },
}

const ofKey = field.idParams("A key's ID")
const changeSchema = {
  operationId: 'changeKey',
  tags,
  summary: 'Rename or limit a key',
  description: 'What is not given stays as it is.',
  params: ofKey,
  body: field.body({ ...limits, reason: admin.reason }),
  response: {
    200: z.object({ id: z.string() }).meta({ id: 'AdminChangedKey' }),
    ...personalRefusals(400, 404, 413, 415),
  },
}
const revokeSchema = {
  operationId: 'revokeKey',
  tags,
  summary: 'Make a key stop working',
  description: 'From the next request on. A repeat keeps the first time.',
  params: ofKey,
  response: {
    200: z.object({ id: z.string(), revoked_at: z.iso.datetime() }).meta({ id: 'AdminRevokedKey' }),
    ...personalRefusals(400, 404),
  },
}

const usage = z
  .object({
    key_id: z.string(),
    kind: z.enum(['personal', 'developer', 'website']),
    key_name: z.string(),
    hint: z.string().describe('Empty for the website'),
    model_version_id: z.int(),
    model_name: z.string(),
    model_version_name: z.string(),
    images: z.int(),
    credits: z.int().describe('Less what was given back; 0 with a developer key'),
  })
  .meta({ id: 'AdminKeyUsage' })
const usageSchema = {
  operationId: 'getUsage',
  tags,
  summary: 'Images and credits, per key and model version',
  description:
    'Of all time, or of a part of it. What a developer key has made counts when it is made, all else when it is asked for.',
  params: admin.ofAccount,
  querystring: z.strictObject({
    since: admin.rangeBegin('since').optional(),
    until: admin.rangeEnd('until').optional(),
  }),
  response: { 200: z.object({ usage: z.array(usage) }).meta({ id: 'AdminUsage' }), ...personalRefusals(400, 404) },
}

export function keyRoutes(app: App, ports: ActPorts, keyPrefix: string): void {
  const { administration } = ports
  const config = admin.OF_ACCOUNTS

  app.get('/accounts/:name/keys', { schema: listSchema }, async ({ params }) => {
    const { keys } = await listKeys(administration, params.name, keyPrefix)
    return { keys: keys.map((it) => viewOf(key, it as typeof it & { kind: (typeof KINDS)[number] })) }
  })

  app.post('/accounts/:name/keys', { config, schema: createSchema }, (request, reply) => {
    const { kind, concurrency, scope, ...given } = request.body
    return act(request, reply, ports, async (acting) => {
      const asked = { kind, concurrency, scope, ...changeOf(given) }
      const { id, key } = await createKey(acting, request.params.name, asked, keyPrefix)
      return { status: 201, body: { id, key }, repeated: { id, key: null, note: SHOWN_ONCE } }
    })
  })

  app.patch('/keys/:id', { config, schema: changeSchema }, (request, reply) => {
    const {
      params: { id },
      caller,
    } = request
    const change = changeOf(request.body)
    if (Object.keys(change).length === 0)
      throw invalidParameter('name', 'Nothing to change: give name, until, monthly_limit or models.')
    return act(request, reply, ports, async (acting) => {
      await changeKey(acting, id, change, (its) => admin.requireMayAdminister({ caller }, its))
      const { reason: _, ...changed } = request.body
      return { body: { id, ...changed } }
    })
  })

  app.delete('/keys/:id', { config, schema: revokeSchema }, (request, reply) => {
    const { id } = request.params
    const check = (its: { readonly role: string }) => admin.requireMayAdminister(request, its)
    return act(request, reply, ports, async (acting) => ({
      body: { id, revoked_at: await revokeKey(acting, id, check) },
    }))
  })

  app.get('/accounts/:name/usage', { schema: usageSchema }, async ({ params, query }) => {
    const rows = await usageOf(administration, params.name, query, keyPrefix)
    return { usage: rows.map((it) => viewOf(usage, it)) }
  })
}
