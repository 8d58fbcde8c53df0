import { describe, expect, it } from 'vitest'
import { call, expectCreateError } from '../support/client.js'
import { chargesOf, type GivenUser, givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'
import { standInWorker } from '../support/stand-in-worker.js'
import { until } from '../support/until.js'

const WAITERS = 60
const context = useService({
  env: { RATE_LIMIT_MAX: '1000' },
  server: { maxWaiting: 2 * WAITERS, createImageTimeoutSeconds: 600 },
})
const create = ({ key }: GivenUser, idempotencyKey?: string) =>
  call(context.service.url, 'POST', '/v1/images/generate', {
    key,
    body: { prompt: 'x' },
    ...(idempotencyKey !== undefined && { headers: { 'idempotency-key': idempotencyKey } }),
  })
/** Of our server's pool; its LISTEN connection and the tests' own have other names or databases. */
const connections = async () => {
  const { rows } = await context.service.db.pool.query(
    `SELECT count(*) AS open, count(*) FILTER (WHERE state <> 'idle' AND pid <> pg_backend_pid()) AS busy
       FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'easel'`,
  )
  return rows[0] as { open: number; busy: number }
}

describe('sixty waiting Create Image clients of an account, half of all that the server admits,', () => {
  it('hold no connection to Postgres, and one more gets a 429 without a charge, but another account a place', async () => {
    const { db } = context.service
    const developer = await givenUser(db, { developer: { concurrency: 2 * WAITERS } })
    const owner = await givenUser(db)
    const waiting = Promise.all(Array.from({ length: WAITERS }, () => create(developer)))
    const queued = async () =>
      Number((await db.pool.query('SELECT count(*) FROM generations WHERE user_id = $1', [developer.id])).rows[0].count)
    await until(async () => (await queued()) === WAITERS, 'all that wait')

    // The pool's connections are busy only for the one look a second that all of them share.
    let idle = 0
    await until(async () => (await connections()).busy === 0 && ++idle >= 10, 'connections that rest')
    expect((await connections()).open).toBeLessThanOrEqual(20 + 5)

    const refused = await create(developer)
    expectCreateError(refused, 429, 'rate_limit_exceeded', /rate limit of this server/, { retry_after: 5 })
    expect(refused.headers.get('retry-after')).toBe('5')
    expect(await create(developer, 'k')).toMatchObject({ status: 429 })
    expect(await queued()).toBe(WAITERS)
    // The other interface waits for nothing.
    expect(await call(context.service.url, 'GET', '/api/v1/account', { key: owner.key })).toMatchObject({ status: 200 })

    const other = create(owner)
    await until(async () => (await chargesOf(db, owner)).length === 1, 'the charge of another account')
    const worker = standInWorker(db)
    for (let n = 0; n <= WAITERS; n++) await worker.succeed(await worker.claim())
    expect(await other).toMatchObject({ status: 200 })
    expect((await waiting).map(({ status }) => status)).toEqual(Array(WAITERS).fill(200))
    const again = create(developer)
    await until(async () => (await queued()) > WAITERS, 'a place that was given back')
    await worker.succeed(await worker.claim())
    expect(await again).toMatchObject({ status: 200 })
  })
})
