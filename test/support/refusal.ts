/** What every refusal has in common, whatever was sent. */
import { expect } from 'vitest'
import type { Database } from '../../src/db/client.js'
import type { Answer } from './client.js'
import type { GivenUser } from './givens.js'

export const INTERFACES = { personal: '/api/v1/generate', create: '/v1/images/generate' } as const
export type Interface = keyof typeof INTERFACES

/** A 4xx in the interface's own shape, with an id to ask about, and nothing of the inside. */
export function expectRefusal(answer: Answer | undefined, shape: Interface, what: string): void {
  expect(answer, `${what}: no answer`).toBeDefined()
  const { status, body, headers } = answer as Answer
  const shown = `${what}: ${status} ${JSON.stringify(body)}`
  expect(status, shown).toBeGreaterThanOrEqual(400)
  expect(status, shown).toBeLessThan(500)
  expect(headers.get('x-request-id'), shown).toMatch(/^[0-9a-f-]{36}$/)
  expect(headers.get('content-type'), shown).toBe('application/json; charset=utf-8')
  if (shape === 'personal') expect(body, shown).toEqual({ error: expect.stringMatching(/^[A-Z“"a-z_].*[.)?]$/s) })
  else {
    expect(Object.keys(body), shown).toEqual(['success', 'error'])
    expect(body.success, shown).toBe(false)
    expect(body.error, shown).toMatchObject({ code: expect.stringMatching(/^[a-z_]+$/), message: expect.any(String) })
  }
  expect(JSON.stringify(body), shown).not.toMatch(/node_modules|\.[jt]s:\d|at async|SELECT|INSERT|SQL/)
}

/** The user, who was given a hundred credits, has been charged nothing and left nothing behind. */
export async function expectNoTrace({ pool }: Database, { id }: GivenUser): Promise<void> {
  const { rows } = await pool.query(
    `SELECT (SELECT count(*) FROM generations WHERE user_id = $1) AS generations,
            (SELECT count(*) FROM credit_ledger WHERE user_id = $1 AND kind <> 'grant') AS charges,
            (SELECT count(*) FROM idempotency_keys WHERE user_id = $1) AS keys,
            (SELECT credits FROM users WHERE id = $1) AS credits`,
    [id],
  )
  expect(rows[0]).toEqual({ generations: 0, charges: 0, keys: 0, credits: 100 })
}
