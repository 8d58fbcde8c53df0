import { describe, expect, it } from 'vitest'
import { call, PROMPT } from '../support/client.js'
import { type GivenUser, givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'

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

describe('under load on two servers', () => {
  const twoServers = async () => [context.service.url, (await context.service.server()).url]

  it('a key that is revoked opens nothing for any request sent after that', async () => {
    const { db } = context.service
    const owner = await givenUser(db)
    const revoke = () => db.pool.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [owner.keyId])
    const { earlier, later } = await useMeanwhile(await twoServers(), owner, revoke)
    expect(earlier).toContain(200)
    expect(later.length).toBeGreaterThan(20)
    // Refused as any unknown key, which an address may send so and so often.
    expect(later.filter((status) => status !== 401 && status !== 429)).toEqual([])
  })

  it('a user who is deleted gets nothing but word of it', async () => {
    const { db } = context.service
    const owner = await givenUser(db)
    const remove = () => db.pool.query('UPDATE users SET deleted_at = now() WHERE id = $1', [owner.id])
    const { earlier, later } = await useMeanwhile(await twoServers(), owner, remove)
    expect(earlier).toContain(200)
    expect(new Set(later)).toEqual(new Set([404]))
  })

  it('a subscription that lapses ends submitting at once, and nothing else', async () => {
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
