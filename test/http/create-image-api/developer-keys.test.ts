import { describe, expect, it } from 'vitest'
import { type Answer, call, expectCreateError, PROMPT } from '../../support/client.js'
import { chargesOf, creditsOf, type GivenUser, givenKey, givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { standInWorker } from '../../support/stand-in-worker.js'
import { until } from '../../support/until.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000' } })
const developer = (concurrency = 4) =>
  givenUser(context.service.db, { credits: 0, subscription: null, developer: { concurrency } })
const create = (key: string, headers: Record<string, string> = {}): Promise<Answer> =>
  call(context.service.url, 'POST', '/v1/images/generate', { key, body: { prompt: 'a lighthouse at dusk' }, headers })
const worker = () => standInWorker(context.service.db)

async function generationsOf({ id }: GivenUser, status = '%') {
  const { pool } = context.service.db
  return (await pool.query('SELECT * FROM generations WHERE user_id = $1 AND status LIKE $2', [id, status])).rows
}

async function usageOf({ id }: GivenUser) {
  const { pool } = context.service.db
  return (
    await pool.query('SELECT generation_id, idx, api_key_id, model_version_id FROM usage WHERE user_id = $1', [id])
  ).rows
}

/** Sends many requests at once and, when those that find no room have been refused, lets the others succeed. */
async function crowd({ key }: GivenUser, { sent, room }: { sent: number; room: number }) {
  const refused: Answer[] = []
  const answers = Array.from({ length: sent }, async () => {
    const answer = await create(key)
    if (answer.status === 429) refused.push(answer)
    return answer.status
  })
  await until(() => refused.length === sent - room, 'the refusals')
  for (let n = 0; n < room; n++) await worker().succeed(await worker().claim())
  return { refused, statuses: (await Promise.all(answers)).sort() }
}

describe('a developer key on Create Image', () => {
  it('needs neither credits nor a subscription, and is metered instead of charged', async () => {
    const { db } = context.service
    const owner = await developer()
    const answer = create(owner.key)
    const claimed = await worker().claim()
    expect(claimed).toMatchObject({ accountId: owner.id, keyId: owner.keyId, metered: true, cost: 0 })
    expect(await usageOf(owner)).toEqual([])
    await worker().succeed(claimed)
    expect(await answer).toMatchObject({ status: 200, body: { success: true } })
    expect(await usageOf(owner)).toEqual([
      { generation_id: claimed.id, idx: 0, api_key_id: owner.keyId, model_version_id: claimed.modelVersionId },
    ])
    expect(await chargesOf(db, owner)).toEqual([])
    expect(await creditsOf(db, owner)).toBe(0)
  })

  it('is not metered for a generation that fails', async () => {
    const owner = await developer()
    const answer = create(owner.key)
    await worker().fail(await worker().claim(), 'Out of memory.')
    expectCreateError(await answer, 500, 'generation_failed', /^Out of memory\.$/)
    expect(await usageOf(owner)).toEqual([])
    expect(await chargesOf(context.service.db, owner)).toEqual([])
  })

  it('runs as many generations at once as it may, and gets a 429 for each further one', async () => {
    const owner = await developer(3)
    const { refused, statuses } = await crowd(owner, { sent: 8, room: 3 })
    expect(statuses).toEqual([200, 200, 200, 429, 429, 429, 429, 429])
    for (const answer of refused) {
      expectCreateError(answer, 429, 'rate_limit_exceeded', /already has 3 active generations/, { retry_after: 2 })
      expect(answer.headers.get('retry-after')).toBe('2')
    }
    // And there is room again.
    const next = create(owner.key)
    await worker().succeed(await worker().claim())
    expect(await next).toMatchObject({ status: 200 })
  })

  it('has slots of its own, apart from the user’s other keys and personal generation', async () => {
    const { db, url } = context.service
    const owner = await givenUser(db)
    const [one, two] = [
      await givenKey(db, owner.id, { concurrency: 1 }),
      await givenKey(db, owner.id, { concurrency: 1 }),
    ]
    const submitted = await call(url, 'POST', '/api/v1/generate', { key: owner.key, body: PROMPT })
    expect(submitted).toMatchObject({ status: 201 })
    const answers = [create(one.key), create(two.key)]
    await until(async () => (await generationsOf(owner, 'queued')).length === 3, 'three that wait')
    expectCreateError(await create(one.key), 429, 'rate_limit_exceeded', /already has 1 active generation,/, {
      retry_after: 2,
    })
    for (let n = 0; n < 3; n++) await worker().succeed(await worker().claim())
    for (const answer of answers) expect(await answer).toMatchObject({ status: 200 })
    expect(await chargesOf(db, owner)).toEqual([['charge', -1]])
  })

  it('gets the first answer again for the same Idempotency-Key, metered once and without a balance', async () => {
    const owner = await developer()
    const headers = { 'idempotency-key': 'k' }
    const first = create(owner.key, headers)
    await worker().succeed(await worker().claim())
    const again = await create(owner.key, headers)
    expect(again).toMatchObject({ status: 200, body: (await first).body })
    // It pays with no credits, so it is told of none.
    for (const { headers } of [await first, again]) expect(headers.get('x-credits-remaining')).toBeNull()
    expect(await usageOf(owner)).toHaveLength(1)
  })

  it('runs four generations at once, unless another number was set', async () => {
    const owner = await developer(1)
    await context.service.db.pool.query('UPDATE api_keys SET concurrency = DEFAULT WHERE id = $1', [owner.keyId])
    expect((await crowd(owner, { sent: 5, room: 4 })).statuses).toEqual([200, 200, 200, 200, 429])
  })
})
