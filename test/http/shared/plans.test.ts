import { beforeAll, describe, expect, it } from 'vitest'
import type { Plan } from '../../../src/core/accounts/plan.js'
import { SEED_MODELS } from '../../../src/core/catalog/model-version.js'
import { call, expectPersonalError, PROMPT } from '../../support/client.js'
import { givenPlan, givenSubscriber } from '../../support/given-plan.js'
import { givenSession } from '../../support/given-sign-in.js'
import { givenUser, type UserOptions } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { textOf, visit } from '../../support/website-client.js'

/** So long that no machine is too slow for it. */
const context = useService({ env: { RATE_LIMIT_WINDOW_SECONDS: '600', RATE_LIMIT_MAX: '5' } })
const [INCLUDED, OTHER] = [SEED_MODELS[1], SEED_MODELS[0]] as [(typeof SEED_MODELS)[0], (typeof SEED_MODELS)[0]]
const FORM = { prompt: 'a cat', batch_size: '1' }
let plan: Plan

beforeAll(async () => {
  plan = await givenPlan(context.service.db, { models: [INCLUDED.id], rateLimit: 8 })
})

const subscriber = () => givenSubscriber(context.service.db, plan)
const expired = (options: UserOptions = {}) =>
  givenUser(context.service.db, { ...options, subscription: { plan: plan.name, endDate: new Date(Date.now() - 1000) } })
const submit = (key: string, id: number, query = '') =>
  call(context.service.url, 'POST', `/api/v1/generate${query}`, { key, body: { ...PROMPT, model_version_id: id } })
const create = (key: string, model: string | null) =>
  call(context.service.url, 'POST', '/v1/images/generate', { key, body: { prompt: 'a cat', model } })
const capabilities = (key: string, headers = {}) =>
  call(context.service.url, 'GET', '/api/v1/capabilities', { key, headers })
const statusesOf = async (key: string, times: number) => {
  const answers = []
  for (let n = 0; n < times; n++) answers.push(await call(context.service.url, 'GET', '/api/v1/account', { key }))
  return answers
}

describe('a model version outside the plan', () => {
  const refusal = () => new RegExp(`Your plan "${plan.name}" does not include model version ${OTHER.id}\\.`)

  it('is a 403 that names the plan on the Personal API, also as a dry run, and charges nothing', async () => {
    const { key } = await subscriber()
    for (const query of ['', '?dry_run=true']) expectPersonalError(await submit(key, OTHER.id, query), 403, refusal())
    expect((await submit(key, INCLUDED.id, '?dry_run=true')).body).toMatchObject({ credits_held: 100 })
    expect((await submit(key, INCLUDED.id)).status).toBe(201)
  })

  it('is a 403 that names the plan on Create Image', async () => {
    const { key } = await subscriber()
    const { status, body } = await create(key, OTHER.createImageModel)
    const message = `does not include model "${OTHER.createImageModel}". Choose another one, or change your plan.`
    expect([status, body.error.code, body.error.message]).toEqual([403, 'forbidden', expect.stringContaining(message)])
  })

  it('cannot be chosen in the playground, which draws with one of the plan and names the plan in its refusal', async () => {
    const { db, url } = context.service
    const cookie = await givenSession(db, await subscriber())
    const { html } = await visit(url, '/playground', { cookie })
    const radioOf = (id: number) =>
      new RegExp(`<input type="radio" name="model_version_id" value="${id}"[^>]*>`).exec(html)?.[0]
    expect(radioOf(OTHER.id)).toContain('disabled')
    expect(radioOf(INCLUDED.id)).toMatch(/checked/)
    expect(radioOf(INCLUDED.id)).not.toContain('disabled')
    expect(html).toContain('not in your plan')
    const asked = await visit(url, `/playground?model=${OTHER.id}`, { cookie })
    expect(asked.html).toContain('Your plan does not include that model')
    const sent = await visit(url, '/playground', { cookie, body: { ...FORM, model_version_id: `${OTHER.id}` } })
    expect([sent.status, textOf(sent.html)]).toEqual([403, expect.stringMatching(refusal())])
  })

  it('is marked in the capabilities, whose default is one of the plan', async () => {
    const { body } = await capabilities((await subscriber()).key)
    const included = body.models.filter(({ in_plan }: { in_plan: boolean }) => in_plan)
    expect(included.map(({ model_version_id }: { model_version_id: number }) => model_version_id)).toEqual([
      INCLUDED.id,
    ])
    expect(body.defaults.model_version_id).toBe(INCLUDED.id)
  })

  it('is like any other to who has another plan, or whose subscription is over', async () => {
    const { key } = await givenUser(context.service.db)
    expect((await submit(key, OTHER.id)).status).toBe(201)
    const over = await expired()
    const refused = await submit(over.key, OTHER.id)
    expect(refused.status).toBe(403)
    expect(refused.body.error).not.toContain(plan.name)
    const { body } = await capabilities(over.key)
    expect(body.models.every(({ in_plan }: { in_plan: boolean }) => in_plan)).toBe(true)
    expect(
      (await visit(context.service.url, '/playground', { cookie: await givenSession(context.service.db, over) })).html,
    ).not.toContain('not in your plan')
  })
})

describe('the rate limit of a plan', () => {
  it('is in the headers, in the capabilities, and holds', async () => {
    const { key } = await subscriber()
    const answers = await statusesOf(key, 9)
    expect(answers.map(({ status }) => status)).toEqual([...Array(8).fill(200), 429])
    for (const { headers } of answers) {
      expect(headers.get('ratelimit-policy')).toBe('8;w=600')
      expect(headers.get('x-ratelimit-limit')).toBe('8')
    }
    expectPersonalError(answers.at(-1) as (typeof answers)[0], 429, /rate limit of 8 requests per 600 seconds/)
    const other = await create(key, 'no such model')
    expect([other.status, other.headers.get('ratelimit-limit')]).toEqual([400, '8'])
    expect((await capabilities((await subscriber()).key)).body.rate_limit).toEqual({ requests: 8, window_seconds: 600 })
  })

  it('is not that of an expired subscription, nor of another plan', async () => {
    for (const { key } of [await expired(), await givenUser(context.service.db)]) {
      const answers = await statusesOf(key, 6)
      expect(answers.map(({ status }) => status)).toEqual([...Array(5).fill(200), 429])
      expect(answers[0]?.headers.get('ratelimit-limit')).toBe('5')
    }
    const { key } = await expired()
    expect((await capabilities(key)).body.rate_limit.requests).toBe(5)
  })

  it('gives the capabilities another ETag, so that nobody keeps those of before', async () => {
    const { db } = context.service
    const user = await subscriber()
    const etag = (await capabilities(user.key)).headers.get('etag') as string
    expect((await capabilities(user.key, { 'if-none-match': etag })).status).toBe(304)
    await db.pool.query(`UPDATE subscriptions SET plan = 'none' WHERE user_id = $1`, [user.id])
    expect((await capabilities(user.key, { 'if-none-match': etag })).status).toBe(200)
  })
})
