/** A program of an operator that acts over /admin/v1: what was not answered it asks again, under the same Idempotency-Key. */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { apiKeyHint, hashApiKey, newApiKey } from '../../../src/core/accounts/api-key.js'
import type { Database } from '../../../src/db/client.js'
import { administration } from '../../../src/db/operator/administration.js'
import { givenUser } from '../../support/givens.js'
import type { Seeded } from '../../support/seeded.js'
import { fieldsOf } from './answer-shapes.js'
import type { Call, ChaosClient } from './client.js'
import type { Answered, Lost, Violation } from './history.js'

export interface Operator {
  readonly name: string
  readonly key: string
}

export async function givenOperator(db: Database): Promise<Operator> {
  const { id: userId, username: name } = await givenUser(db, { credits: 0, subscription: null })
  await db.pool.query(`UPDATE users SET role = 'operator' WHERE id = $1`, [userId])
  const key = newApiKey('easel-operator')
  const stored = { hash: hashApiKey(key), hint: apiKeyHint(key), name: 'chaos', scope: 'all' as const }
  await administration(db).keys.create({ userId, kind: 'operator', ...stored })
  return { name, key }
}

interface ActsOptions {
  readonly client: ChaosClient
  readonly operator: Operator
  readonly chance: Seeded
  /** A model file that nobody generates with. */
  readonly unused: string
}

/** Its accounts begin with it. */
const MADE = 'made-'
/** On average. */
const EVERY_MS = 400
/** The share of requests that are sent again although they were answered. */
const REPEATED = 0.5

/** The accounts that were made, and what they must hold; and the reason of each act. */
export interface Acts {
  /** By name, the credits of each entry that its ledger must have. */
  readonly accounts: ReadonlyMap<string, readonly number[]>
  /** Names of API keys, each of which must be there once. */
  readonly keys: readonly string[]
  /** Each act is recorded with a reason of its own. */
  readonly reasons: readonly string[]
  readonly violations: readonly Violation[]
}

export function startActs({ client, operator, chance, unused }: ActsOptions) {
  const accounts = new Map<string, number[]>()
  const keys: string[] = []
  const reasons: string[] = []
  const violations: Violation[] = []
  let stopping = false

  /** Until it is answered. */
  async function act(
    name: string,
    method: 'POST' | 'DELETE',
    path: string,
    body?: object,
    statuses: readonly number[] = [201],
  ): Promise<Answered> {
    const reason = `chaos act ${reasons.length + 1}`
    reasons.push(reason)
    const call: Call = {
      ...{ user: operator.name, method, path: `/admin/v1${path}`, apiKey: operator.key, body },
      asked: { what: 'act', name, statuses: [...statuses, 409, 429] },
      headers: { 'x-reason': reason, ...(method === 'POST' && { 'idempotency-key': randomUUID() }) },
    }
    let got = await client.send({ ...call, ...(chance.chance(0.1) && { hangUpAfterMs: chance.between(0, 40) }) })
    while (isUnknown(got)) {
      await delay(chance.between(50, 400))
      got = await client.send(call)
    }
    if (method === 'POST' && chance.chance(REPEATED)) {
      const again = await client.send(call)
      if (!isUnknown(again) && shown(again) !== shown(got))
        violations.push({ invariant: 'admin', what: `${reason} (${name}) got ${shown(got)}, then ${shown(again)}` })
    }
    return got
  }

  async function create(): Promise<void> {
    const username = `${MADE}${accounts.size + 1}`
    const credits = 100 + chance.below(100)
    accounts.set(username, [credits])
    await act('make an account', 'POST', '/accounts', { username, credits })
  }

  async function changeCredits(): Promise<void> {
    const [username, entries] = chance.pick([...accounts])
    const held = entries.reduce((sum, credits) => sum + credits, 0)
    // Without a reference of its own: the Idempotency-Key alone tells a repeat.
    const isGrant = chance.chance(0.5)
    const amount = isGrant || held < 20 || chance.chance(0.5) ? 1 + chance.below(50) : -1 - chance.below(19)
    entries.push(amount)
    const path = `/accounts/${username}/credits`
    if (isGrant) await act('grant credits', 'POST', `${path}/grants`, { amount })
    else await act('correct credits', 'POST', `${path}/adjustments`, { amount })
  }

  /** Made, and revoked. */
  async function useKey(): Promise<void> {
    const name = `chaos key ${keys.length + 1}`
    keys.push(name)
    const [username] = chance.pick([...accounts])
    const made = await act('make a key', 'POST', `/accounts/${username}/keys`, { name, monthly_limit: 10 })
    await act('revoke a key', 'DELETE', `/keys/${fieldsOf(made.body).id}`, undefined, [200])
  }

  async function pauseModel(): Promise<void> {
    const what = { scope: 'model', target: unused }
    await act('pause a model', 'POST', '/pauses', what)
    // A repeat after a lost answer finds that it is not paused any more.
    await act('resume a model', 'DELETE', `/pauses?${new URLSearchParams(what)}`, undefined, [200, 400])
  }

  const running = (async () => {
    await create()
    while (!stopping) {
      await delay(chance.gap(EVERY_MS))
      const what = chance.next()
      if (what < 0.2) await create()
      else if (what < 0.7) await changeCredits()
      else if (what < 0.9) await useKey()
      else await pauseModel()
    }
  })()

  return {
    acts: { accounts, keys, reasons, violations } satisfies Acts,
    stop: async () => {
      stopping = true
      await running
    },
  }
}

/** An answer that comes again has a key only the first time, and its fields in another order. */
const shown = ({ status, body }: Answered): string => {
  const { key, note, ...rest } = fieldsOf(body)
  return `${status} ${JSON.stringify(Object.entries(rest).sort())}`
}

/** It may have been done or not. */
const isUnknown = (got: Answered | Lost): got is Lost =>
  typeof got === 'string' || got.status >= 500 || got.status === 409 || got.status === 429

/** Each act was done once, and recorded once. */
export async function actViolations(
  client: pg.Client,
  { accounts, keys, reasons, violations }: Acts,
): Promise<Violation[]> {
  const { rows: ledgers } = await client.query<{ username: string; deltas: number[] }>(
    `SELECT u.username, array_remove(array_agg(l.delta::integer ORDER BY l.id), NULL) AS deltas
       FROM users u LEFT JOIN credit_ledger l ON l.user_id = u.id WHERE u.username LIKE '${MADE}%' GROUP BY 1`,
  )
  const ledgerOf = new Map(ledgers.map(({ username, deltas }) => [username, deltas]))
  const { rows: named } = await client.query<{ name: string; n: number }>(
    `SELECT name, count(*)::integer AS n FROM api_keys WHERE name LIKE 'chaos key %' AND revoked_at IS NOT NULL GROUP BY 1`,
  )
  const timesMade = new Map(named.map(({ name, n }) => [name, n]))
  const { rows: recorded } = await client.query<{ reason: string; n: number }>(
    `SELECT reason, count(*)::integer AS n FROM operator_actions WHERE reason LIKE 'chaos act %' GROUP BY 1`,
  )
  const timesRecorded = new Map(recorded.map(({ reason, n }) => [reason, n]))
  const wrong = [
    ...[...accounts].flatMap(([name, entries]) =>
      String(ledgerOf.get(name)) === String(entries)
        ? []
        : [`the credits of ${name} moved by ${ledgerOf.get(name)} instead of ${entries}`],
    ),
    ...keys.flatMap((name) =>
      timesMade.get(name) === 1 ? [] : [`${name} was made and revoked ${timesMade.get(name) ?? 0} times`],
    ),
    ...reasons.flatMap((reason) =>
      timesRecorded.get(reason) === 1 ? [] : [`${reason} was recorded ${timesRecorded.get(reason) ?? 0} times`],
    ),
  ]
  return [...violations, ...wrong.map((what) => ({ invariant: 'admin', what }))]
}
