import { parse } from 'csv-parse/sync'
import { describe, expect, it } from 'vitest'
import { givenPlan, givenSubscriber } from '../../support/given-plan.js'
import { givenOperator, givenSession } from '../../support/given-sign-in.js'
import { type GivenUser, givenUser, MODEL } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { givenEndedGeneration } from '../../support/stand-in-worker.js'
import { unguarded } from '../../support/unguarded.js'
import { textOf, visit } from '../../support/website-client.js'

const context = useService()

async function givenMade(user: GivenUser, day: string, how: 'succeed' | 'fail' = 'succeed') {
  const { db } = context.service
  const { id } = await givenEndedGeneration(db, user, { batchSize: 2 }, how)
  await unguarded(db, 'UPDATE generations SET created_at = $1 WHERE id = $2', [`${day}T12:00:00Z`, id])
}

const givenMoved = ({ id }: GivenUser, day: string, kind: string, delta: number) =>
  context.service.db.pool.query(
    `INSERT INTO credit_ledger (user_id, kind, delta, balance, created_at) VALUES ($1, $2, $3, 1000, $4)`,
    [id, kind, delta, `${day}T00:00:00Z`],
  )

/** Each test has days of its own. */
async function given() {
  const { db, url } = context.service
  const { cookie } = await givenOperator(db)
  const get = (path: string) => visit(url, path, { cookie })
  return {
    get,
    csv: async (by: string, from: string, to: string): Promise<Record<string, string>[]> => {
      const { html, headers } = await get(`/operator/figures.csv?by=${by}&from=${from}&to=${to}`)
      expect(headers.get('content-disposition')).toBe(`attachment; filename="${by}-${from}-${to}.csv"`)
      return parse(html, { columns: true })
    },
  }
}

describe('the operator’s figures', () => {
  it('are what was granted, sold, spent and has expired, by day and by plan', async () => {
    const { csv } = await given()
    const { db } = context.service
    const plan = await givenPlan(db)
    const [user, other] = [await givenSubscriber(db, plan), await givenUser(db, { subscription: null })]
    await givenMoved(user, '2026-03-01', 'grant', 70)
    await givenMoved(user, '2026-03-02', 'purchase', 30)
    await givenMoved(other, '2026-03-02', 'purchase', 5)
    await givenMoved(user, '2026-03-02', 'expire', -7)
    await givenMoved(user, '2026-03-02', 'adjustment', -3)
    await givenMade(user, '2026-03-01')
    await givenMade(user, '2026-03-02', 'fail')
    await givenMade(other, '2026-03-02')
    const none = { granted: '0', sold: '0', spent: '0', expired: '0', started: '0', ended: '0' }
    expect(await csv('days', '2026-02-28', '2026-03-02')).toEqual([
      { day: '2026-02-28', ...none },
      { day: '2026-03-01', ...none, granted: '70', spent: '2' },
      { day: '2026-03-02', ...none, sold: '35', spent: '2', expired: '7' },
    ])
    const plans = await csv('plans', '2026-03-01', '2026-03-02')
    const ofPlan = { active: '1', started: '0', ended: '0', granted: '70', sold: '30', spent: '2', expired: '7' }
    expect(plans.find((it) => it.plan === plan.name)).toEqual({ plan: plan.name, ...ofPlan })
    expect(plans.find((it) => it.plan === '')).toMatchObject({ sold: '5', spent: '2', granted: '0' })
  })

  it('are the subscriptions that have begun and ended, and those that are active', async () => {
    const { csv } = await given()
    const { db } = context.service
    const plan = `Plan ${crypto.randomUUID()}`
    const users = [1, 2, 3].map(() => givenUser(db, { subscription: { plan } }))
    const [first, second] = await Promise.all(users)
    const set = (user: GivenUser | undefined, column: string, at: string) =>
      db.pool.query(`UPDATE subscriptions SET ${column} = $1 WHERE user_id = $2`, [at, user?.id])
    await set(first, 'started_at', '2026-04-01T00:00:00Z')
    await set(second, 'started_at', '2026-04-02T23:59:59Z')
    await set(second, 'end_date', '2026-04-03T12:00:00Z')
    const [ofPlan] = (await csv('plans', '2026-04-01', '2026-04-03')).filter((it) => it.plan === plan)
    expect(ofPlan).toMatchObject({ active: '2', started: '2', ended: '1' })
    const days = await csv('days', '2026-04-01', '2026-04-03')
    expect(days.map(({ started, ended }) => [started, ended])).toEqual([
      ['1', '0'],
      ['1', '0'],
      ['0', '1'],
    ])
  })

  it('are what models and accounts have cost, the most first', async () => {
    const { csv } = await given()
    const { db } = context.service
    const [little, much] = [await givenUser(db), await givenUser(db)]
    await givenMade(little, '2026-05-01')
    for (const how of ['succeed', 'succeed', 'fail'] as const) await givenMade(much, '2026-05-02', how)
    expect(await csv('accounts', '2026-05-01', '2026-05-02')).toEqual([
      { username: much.username, generations: '3', images: '4', spent: '4' },
      { username: little.username, generations: '1', images: '2', spent: '2' },
    ])
    expect(await csv('models', '2026-05-01', '2026-05-02')).toEqual([
      { model_version_id: String(MODEL.id), model_name: MODEL.modelName, generations: '4', images: '6', spent: '6' },
    ])
  })

  it('are what has failed and was put back on each backend, and what was given back for it', async () => {
    const { csv } = await given()
    const { db } = context.service
    const user = await givenUser(db)
    await givenMade(user, '2026-06-01', 'fail')
    await givenMade(user, '2026-06-01', 'fail')
    await db.pool.query(
      `INSERT INTO put_back_attempts (generation_id, attempt, backend, put_back_at, reason, counted)
       VALUES ('gen_put_back', 1, '=HYPERLINK("x")', '2026-06-01T12:00:00Z', 'worker_lost', false)`,
    )
    expect(await csv('backends', '2026-06-01', '2026-06-01')).toEqual([
      { backend: 'stand-in:', failed: '2', refunded: '4', put_back: '0' },
      { backend: `'=HYPERLINK("x")`, failed: '0', refunded: '0', put_back: '1' },
    ])
  })

  it('are charts and tables of the days that are chosen', async () => {
    const { get } = await given()
    const user = await givenUser(context.service.db)
    await givenMade(user, '2026-07-02')
    const { html } = await get('/operator/figures?from=2026-07-01&to=2026-07-03')
    expect(html).toContain('From Jul 1 to Jul 3: 2 credits, most on Jul 2: 2')
    expect(textOf(html)).toContain(`${user.username}122`)
    expect(textOf((await get('/operator/figures?from=2020-01-01')).html)).toContain('choose a shorter time')
  })

  it('are shown to operators only', async () => {
    const { db, url } = context.service
    const cookie = await givenSession(db, await givenUser(db))
    for (const path of ['/operator/figures', '/operator/figures.csv?by=days'])
      expect((await visit(url, path, { cookie })).status).toBe(404)
  })
})
