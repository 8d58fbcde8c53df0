import { z } from 'zod'
import type { LedgerStore } from '../../../core/accounts/ledger.js'
import { userNotFound } from '../../../core/errors.js'
import { personalRefusals } from '../../shared/error-bodies.js'
import type { App } from '../../shared/fastify-app.js'
import * as field from '../../shared/fields.js'
import { EXAMPLE, viewOf } from '../../shared/responses.js'

const subscription = z.object({
  status: z.string().describe('Such as "active", "canceled" or "expired"'),
  plan: z.string(),
  endDate: z.iso.datetime(),
})

const EXAMPLE_ACCOUNT = {
  username: 'alice',
  credits: 94,
  subscription: { status: 'active', plan: 'Pro', endDate: '2027-01-31T00:00:00.000Z' },
}

const account = z
  .object({
    username: z.string(),
    credits: z.int().describe('What you hold now'),
    subscription: subscription.nullable().describe('null without a subscription'),
  })
  .meta({ id: 'Account', examples: [EXAMPLE_ACCOUNT] })

const getAccountSchema = {
  operationId: 'getAccount',
  tags: ['Account'],
  summary: 'Your account',
  description: 'Your name, credits and subscription.',
  response: { 200: account, ...personalRefusals(404) },
}

const creditEntry = z.object({
  kind: z.enum(['grant', 'purchase', 'charge', 'refund', 'adjustment', 'expire']),
  delta: z.int().describe('Below zero where you have fewer than before'),
  balance: z.int().describe('What you held right after it'),
  generation_id: z.string().nullable().describe('Of charges and refunds'),
  note: z.string().nullable().describe('Of the other kinds'),
  created_at: z.iso.datetime(),
})

const EXAMPLE_GRANT = {
  kind: 'grant',
  delta: 100,
  balance: 100,
  generation_id: null,
  note: 'Welcome',
  created_at: EXAMPLE.submittedAt,
}

const creditList = z
  .object({
    credits: z.int().describe('What you hold now'),
    entries: z.array(creditEntry),
    next_cursor: field.nextCursor,
  })
  .meta({ id: 'CreditList', examples: [{ credits: 100, entries: [EXAMPLE_GRANT], next_cursor: null }] })

const listCreditsSchema = {
  operationId: 'listCredits',
  tags: ['Account'],
  summary: 'Your credits, and every one that moved, newest first',
  description: 'A generation is charged once, and given back at most once.',
  querystring: z.strictObject(field.page(1)),
  response: { 200: creditList, ...personalRefusals(400) },
}

/** The caller's account, spec 4.1. */
export function accountRoutes(app: App): void {
  app.get('/account', { config: { toldWhenDeleted: true }, schema: getAccountSchema }, async ({ caller }) => {
    const { username, credits, subscription: own, deleted } = caller.account
    if (deleted) throw userNotFound()
    return viewOf(account, { username, credits, subscription: own && viewOf(subscription, own) })
  })
}

/** Every change of the account's credits. */
export function creditRoutes(app: App, ledger: LedgerStore): void {
  app.get('/credits', { schema: listCreditsSchema }, async ({ caller, query }, reply) => {
    const { id, credits } = caller.account
    const { items, next } = await ledger.entries(id, { limit: query.limit, after: query.cursor })
    reply.header('cache-control', 'no-store')
    return { credits, entries: items.map((entry) => viewOf(creditEntry, entry)), next_cursor: field.cursorOf(next) }
  })
}
