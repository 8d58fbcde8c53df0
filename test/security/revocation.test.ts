import { describe, expect, it, onTestFinished } from 'vitest'
import { type Answer, call, expectPersonalError, PROMPT } from '../support/client.js'
import { openEvents } from '../support/event-source.js'
import { type GivenUser, givenGeneration, givenKey, givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'
import { until } from '../support/until.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000000' } })

interface Sent {
  readonly at: number
  readonly status: number
}

/** Uses the key over both servers without a pause while `change` is made, and a good while after. */
async function useMeanwhile(urls: readonly string[], { key }: GivenUser, change: () => Promise<unknown>) {
  const sent: Sent[] = []
  let going = true
  const use = async (url: string) => {
    while (going) {
      const at = performance.now()
      sent.push({ at, status: (await call(url, 'GET', '/api/v1/account', { key })).status })
    }
  }
  const using = Promise.all([...urls, ...urls, ...urls].map(use))
  while (sent.length < 30) await new Promise((resolve) => setImmediate(resolve))
  await change()
  const changedAt = performance.now()
  const enough = sent.length + 60
  while (sent.length < enough) await new Promise((resolve) => setImmediate(resolve))
  going = false
  await using
  return {
    earlier: sent.filter(({ at }) => at <= changedAt).map(({ status }) => status),
    later: sent.filter(({ at }) => at > changedAt).map(({ status }) => status),
  }
}

describe('while requests come in at two servers', () => {
  const twoServers = async () => [context.service.url, (await context.service.server()).url]

  it('a revoked key is refused for each request that is sent after the revocation', async () => {
    const { db } = context.service
    const owner = await givenUser(db)
    const revoke = () => db.pool.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [owner.keyId])
    const { earlier, later } = await useMeanwhile(await twoServers(), owner, revoke)
    expect(earlier).toContain(200)
    expect(later.length).toBeGreaterThan(20)
    // Refused as any unknown key, which an address may send so and so often.
    expect(later.filter((status) => status !== 401 && status !== 429)).toEqual([])
  })

  it('a deleted user gets nothing but the answer that the account is gone', async () => {
    const { db } = context.service
    const owner = await givenUser(db)
    const remove = () => db.pool.query('UPDATE users SET deleted_at = now() WHERE id = $1', [owner.id])
    const { earlier, later } = await useMeanwhile(await twoServers(), owner, remove)
    expect(earlier).toContain(200)
    expect(new Set(later)).toEqual(new Set([404]))
  })

  it.each([
    ['personal key is revoked', '/api/v1/generate', false, 'UPDATE api_keys SET revoked_at = now() WHERE id = $1'],
    ['developer key is revoked', '/v1/images/generate', true, 'UPDATE api_keys SET revoked_at = now() WHERE id = $1'],
    ['user is deleted', '/api/v1/generate', false, 'UPDATE users SET deleted_at = now() WHERE id = $2'],
    ['developer is deleted', '/v1/images/generate', true, 'UPDATE users SET deleted_at = now() WHERE id = $2'],
  ])('a submit that was let in before its %s is refused all the same', async (_who, path, developer, change) => {
    const { db } = context.service
    const owner = await givenUser(db, { ...(developer && { developer: { concurrency: 1 } }) })
    // Whether the key's use is noted would be one more that waits.
    await db.pool.query('UPDATE api_keys SET last_used_at = now() WHERE id = $1', [owner.keyId])
    const changing = await db.pool.connect()
    await changing.query('BEGIN')
    await changing.query(`${change} AND ($1::uuid, $2::uuid) IS NOT NULL`, [owner.keyId, owner.id])
    const headers = { 'idempotency-key': owner.id }
    const body = developer ? { prompt: 'x' } : PROMPT
    const submitting = call(context.service.url, 'POST', path, { key: owner.key, body, headers })
    await until(async () => {
      const { rows } = await db.pool.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      )
      return rows.length === 1
    }, 'a submit that waits for the change')
    await changing.query('COMMIT')
    changing.release()
    const answer = await submitting
    expect(answer).toMatchObject({ status: 401 })
    expect(JSON.stringify(answer.body)).toContain('it is unknown, has expired or has been revoked')
    const { rows } = await db.pool.query(
      `SELECT (SELECT count(*) FROM generations WHERE user_id = $1) AS generations, (SELECT credits FROM users WHERE id = $1),
              (SELECT count(*) FROM idempotency_keys WHERE user_id = $1) AS keys`,
      [owner.id],
    )
    expect(rows).toEqual([{ generations: 0, credits: 100, keys: 0 }])
  })

  it('a lapsed subscription ends submitting at once, and nothing else', async () => {
    const { db } = context.service
    const owner = await givenUser(db)
    const urls = await twoServers()
    await db.pool.query(`UPDATE subscriptions SET end_date = now() - interval '1 second' WHERE user_id = $1`, [
      owner.id,
    ])
    for (const url of urls) {
      expect(await call(url, 'POST', '/api/v1/generate', { key: owner.key, body: PROMPT })).toMatchObject({
        status: 403,
      })
      const create = await call(url, 'POST', '/v1/images/generate', { key: owner.key, body: { prompt: 'x' } })
      expect(create).toMatchObject({ status: 403 })
      expect(await call(url, 'GET', '/api/v1/account', { key: owner.key })).toMatchObject({ status: 200 })
    }
  })
})

describe('a client that follows a generation', () => {
  it.each([
    ['key is revoked', 'UPDATE api_keys SET revoked_at = now() WHERE id = $1'],
    ['user is deleted', 'UPDATE users SET deleted_at = now() WHERE id = (SELECT user_id FROM api_keys WHERE id = $1)'],
  ])('is told of it and hears no more once its %s', async (_what, change) => {
    const { db, url } = context.service
    const [owner, other] = [await givenUser(db), await givenUser(db)]
    const listen = async ({ key }: { key: string }, id: string) => {
      const source = await openEvents(url, key, id)
      onTestFinished(source.close)
      await source.seen('status')
      return source
    }
    const [{ id }, { id: others }] = [await givenGeneration(db, owner), await givenGeneration(db, other)]
    const [source, untouched] = [await listen(owner, id), await listen(other, others)]
    const waiting = call(url, 'GET', `/api/v1/generate/${id}?wait=30`, { key: owner.key })
    await call(url, 'GET', `/api/v1/generate/${id}`, { key: owner.key }) // the first one has arrived by now, too
    await db.pool.query(change, [owner.keyId])

    let answered: Answer | undefined
    void waiting.then((answer) => (answered = answer))
    const answer = await until(() => answered, 'the end of the long poll')
    expectPersonalError(answer, 401, /it is unknown, has expired or has been revoked/)
    await until(() => source.ended, 'the end of the stream')
    expect(source.comments.at(-1)).toBe('the key of this stream was revoked')
    expect(source.events.map(({ event }) => event)).not.toContain('end')
    expect(untouched.ended).toBe(false)
  })

  it('is not affected if another key of the same user is revoked', async () => {
    const { db, url } = context.service
    const owner = await givenUser(db)
    const { id } = await givenGeneration(db, owner)
    const { key } = await givenKey(db, owner.id)
    const [first, second] = [await openEvents(url, owner.key, id), await openEvents(url, key, id)]
    onTestFinished(second.close)
    await db.pool.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [owner.keyId])
    await until(() => first.ended, 'the end of the first')
    expect(second.ended).toBe(false)
  })
})
