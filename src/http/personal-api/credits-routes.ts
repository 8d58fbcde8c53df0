import { z } from 'zod'
import type { LedgerStore } from '../../generation/library/history.js'
import type { App } from '../fastify-app.js'
import { cursorOf, nextCursor, pageFields } from '../paging.js'
import { refusals } from './envelope.js'

const creditList = z
  .object({
    credits: z.int().min(0).describe('What you hold now'),
    entries: z.array(
      z.object({
        kind: z.enum(['grant', 'charge', 'refund']),
        delta: z.int().describe('Below zero for a charge'),
        balance: z.int().min(0).describe('What you held right after it'),
        generation_id: z.string().nullable().describe('null for a grant'),
        note: z.string().nullable().describe('What a grant was for'),
        created_at: z.iso.datetime(),
      }),
    ),
    next_cursor: nextCursor,
  })
  .meta({
    id: 'CreditList',
    examples: [
      {
        credits: 100,
        entries: [
          {
            kind: 'grant',
            delta: 100,
            balance: 100,
            generation_id: null,
            note: 'Welcome',
            created_at: '2026-11-20T21:04:11.062Z',
          },
        ],
        next_cursor: null,
      },
    ],
  })

/** Every credit that ever moved. */
export function creditsRoutes(app: App, ledger: LedgerStore): void {
  app.get(
    '/credits',
    {
      schema: {
        operationId: 'listCredits',
        tags: ['Account'],
        summary: 'Your credits, and every one that moved, newest first',
        description: 'A generation is charged once, and given back at most once.',
        querystring: z.strictObject(pageFields(1)),
        response: { 200: creditList, ...refusals(400) },
      },
    },
    async ({ caller, query }, reply) => {
      const { id, credits } = caller.account
      const { items, next } = await ledger.entries(id, { limit: query.limit, after: query.cursor })
      reply.header('cache-control', 'no-store')
      const entries = items.map((entry) => ({
        kind: entry.kind,
        delta: entry.delta,
        balance: entry.balance,
        generation_id: entry.generationId,
        note: entry.note,
        created_at: entry.createdAt.toISOString(),
      }))
      return { credits, entries, next_cursor: cursorOf(next) }
    },
  )
}
