import { z } from 'zod'
import { requireAccount } from '../../core/operator/accounts.js'
import { adjustCredits, grantCredits, MAX_CREDITS } from '../../core/operator/credits.js'
import { personalRefusals } from '../shared/error-bodies.js'
import type { App } from '../shared/fastify-app.js'
import * as field from '../shared/fields.js'
import { viewOf } from '../shared/responses.js'
import { type ActPorts, act, requireReason } from './acts.js'
import * as admin from './admin-fields.js'

const tags = ['Credits']
const ref = admin.line('ref', 200).optional()

const grantSchema = {
  operationId: 'grantCredits',
  tags,
  summary: 'Give credits',
  description: 'The same `ref` grants once: a repeat changes nothing, and another amount or account is refused.',
  params: admin.ofAccount,
  headers: admin.POSTED,
  body: field.body({
    amount: admin.amount('amount', 1),
    note: admin.line('note', 500).optional().describe('What for; shown in the history'),
    ref: ref.describe('Your own reference, like an invoice number'),
    meant: admin.meant,
    reason: admin.reason,
  }),
  response: {
    201: z
      .object({ username: z.string(), credits: z.int(), granted: z.boolean().describe('false: it was granted before') })
      .meta({ id: 'AdminGrantedCredits' }),
    ...personalRefusals(400, 404, 409, 413, 415, 422),
  },
}

const adjustSchema = {
  operationId: 'adjustCredits',
  tags,
  summary: 'Correct a balance',
  description: 'Down to 0, unless told otherwise. The owner sees the reason, which must be given.',
  params: admin.ofAccount,
  headers: admin.POSTED,
  body: field.body({
    amount: admin
      .amount('amount', -MAX_CREDITS)
      .refine((n) => n !== 0, 'amount must not be 0.')
      .describe('Below 0 to take credits'),
    below_zero: z.boolean('below_zero must be true or false.').optional().describe('The balance may fall below 0'),
    ref: ref.describe('Corrects once'),
    meant: admin.meant,
    reason: admin.reason,
  }),
  response: {
    201: z
      .object({ username: z.string(), credits: z.int(), adjusted: z.int().describe('By how much; 0: it was before') })
      .meta({ id: 'AdminAdjustedCredits' }),
    ...personalRefusals(400, 404, 409, 413, 415, 422),
  },
}

const entry = z
  .object({
    kind: z.enum(['grant', 'purchase', 'charge', 'refund', 'adjustment', 'expire']),
    delta: z.int(),
    balance: z.int().describe('Right after it'),
    expiring_delta: z.int().describe('How many of them expire with a period'),
    generation_id: z.string().nullable(),
    note: z.string().nullable(),
    ref: z.string().nullable(),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'AdminLedgerEntry' })
const historySchema = {
  operationId: 'listCredits',
  tags,
  summary: 'Every credit that moved, newest first',
  description: 'With the references of grants, which their owner does not see.',
  params: admin.ofAccount,
  querystring: z.strictObject(field.page(1)),
  response: {
    200: z.object({ entries: z.array(entry), next_cursor: field.nextCursor }).meta({ id: 'AdminLedger' }),
    ...personalRefusals(400, 404),
  },
}

export function creditRoutes(app: App, ports: ActPorts): void {
  const { administration } = ports
  const config = admin.OF_ACCOUNTS

  app.post('/accounts/:name/credits/grants', { config, schema: grantSchema }, (request, reply) => {
    const { amount, note, ref, meant } = request.body
    admin.requireMeant(amount, meant)
    return act(request, reply, ports, async (acting) => ({
      status: 201,
      body: await grantCredits(acting, request.params.name, amount, { note, ref }),
    }))
  })

  app.post('/accounts/:name/credits/adjustments', { config, schema: adjustSchema }, (request, reply) => {
    const { amount, below_zero: belowZero = false, ref, meant } = request.body
    admin.requireMeant(amount, meant)
    return act(request, reply, ports, async (acting) => ({
      status: 201,
      body: await adjustCredits(acting, request.params.name, amount, { note: requireReason(acting), belowZero, ref }),
    }))
  })

  app.get('/accounts/:name/credits/history', { schema: historySchema }, async ({ params, query }) => {
    const { id } = await requireAccount(administration, params.name)
    const { items, next } = await administration.credits.entries(id, { limit: query.limit, after: query.cursor })
    return { entries: items.map((it) => viewOf(entry, it)), next_cursor: field.cursorOf(next) }
  })
}
