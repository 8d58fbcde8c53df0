/** Subscribers who submit and poll all the time, and an operator who grants credits; what they were answered. */
import { setTimeout as delay } from 'node:timers/promises'
import { operatorCreditStore } from '../../../src/db/accounts/ledger.js'
import { createDatabase, type Database } from '../../../src/db/client.js'
import { type GivenUser, givenUser } from '../../support/givens.js'
import { until } from '../../support/until.js'

/** Longer than any failover takes. */
export const PATIENCE_MS = 120_000
const ACCOUNTS = 60
export const GRANTED = 10_000
const SUBMIT_EVERY_MS = 100
const GRANT_EVERY_MS = 500
const POLL_EVERY_MS = 300
/** Longer than a server lets anybody wait. */
const ANSWERED_WITHIN_MS = 15_000

export interface Answered {
  /** The account of each generation that was answered with 201. */
  readonly submitted: ReadonlyMap<string, string>
  /** Those that a poll has shown as succeeded. */
  readonly succeeded: ReadonlySet<string>
  /** The reference of each grant that was acknowledged. */
  readonly granted: ReadonlyMap<string, string>
  /** When submits were answered with 201, and when they were refused, in ms. */
  readonly acknowledgedAt: readonly number[]
  readonly refusals: ReadonlyMap<string, number>
}

export interface Load extends Answered {
  /** Resolves when so many more submits have been answered with 201. */
  acknowledged(more: number): Promise<unknown>
  /** Resolves when everything that was submitted has ended, or a minute has passed. */
  stop(): Promise<void>
}

export async function startLoad(servers: readonly string[], databaseUrl: string): Promise<Load> {
  const db = createDatabase(databaseUrl, { maxConnections: 4, onError: () => undefined })
  const idle: GivenUser[] = []
  for (let n = 0; n < ACCOUNTS; n++) idle.push(await givenUser(db, { credits: GRANTED }))
  const all = [...idle]
  const submitted = new Map<string, string>()
  const succeeded = new Set<string>()
  const granted = new Map<string, string>()
  const acknowledgedAt: number[] = []
  const refusals = new Map<string, number>()
  const refuse = (why: string) => refusals.set(why, (refusals.get(why) ?? 0) + 1)
  let over = false
  const under = new Set<Promise<void>>()

  async function ask(path: string, { key }: GivenUser, body?: unknown) {
    const url = servers[Math.floor(Math.random() * servers.length)] ?? ''
    const response = await fetch(`${url}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${key}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: AbortSignal.timeout(ANSWERED_WITHIN_MS),
    })
    return { status: response.status, body: (await response.json()) as { id: string; status: string } }
  }

  async function submit(user: GivenUser): Promise<void> {
    const answer = await ask('/api/v1/generate', user, {
      ...{ prompt: 'a lighthouse at dusk', model_version_id: 10, width: 256, height: 256, steps: 1 },
    }).catch((error: Error) => error)
    if (answer instanceof Error) return void refuse(answer.name)
    if (answer.status !== 201) return void refuse(`${answer.status}`)
    acknowledgedAt.push(performance.now())
    submitted.set(answer.body.id, user.id)
    await follow(user, answer.body.id)
  }

  async function follow(user: GivenUser, id: string): Promise<void> {
    for (const end = performance.now() + 60_000; performance.now() < end; await delay(POLL_EVERY_MS)) {
      const poll = await ask(`/api/v1/generate/${id}`, user).catch(() => undefined)
      if (poll?.status === 404) return
      if (poll?.body.status === 'succeeded') succeeded.add(id)
      if (poll?.body.status === 'succeeded' || poll?.body.status === 'failed') return
    }
  }

  const submitting = (async () => {
    for (; !over; await delay(SUBMIT_EVERY_MS)) {
      const user = idle.shift()
      if (!user) continue
      const done: Promise<void> = submit(user).finally(() => {
        idle.push(user)
        under.delete(done)
      })
      under.add(done)
    }
  })()
  const granting = (async () => {
    for (let n = 0; !over; n++, await delay(GRANT_EVERY_MS)) {
      const user = all[n % all.length] as GivenUser
      await grant(db, user, `grant-${n}`).then(
        () => granted.set(`grant-${n}`, user.id),
        () => undefined,
      )
    }
  })()

  return {
    ...{ submitted, succeeded, granted, acknowledgedAt, refusals },
    acknowledged(more) {
      const before = acknowledgedAt.length
      return until(() => acknowledgedAt.length >= before + more, `${more} submits`, PATIENCE_MS)
    },
    async stop() {
      over = true
      await submitting
      await granting
      await Promise.all(under)
      await db.pool.end()
    },
  }
}

const grant = (db: Database, { id }: GivenUser, ref: string) => operatorCreditStore(db).grant(id, 1, { ref })
