import { describe, expect, it } from 'vitest'
import { call, expectCreateError, expectPersonalError, PROMPT } from '../support/client.js'
import { chargesOf, creditsOf, type GivenUser, givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000' } })
const PRICE = 7

/** A user who holds so many credits, and a model version that costs PRICE an image. */
async function given(credits: number): Promise<GivenUser> {
  const { pool } = context.service.db
  await pool.query('UPDATE model_versions SET credits_per_image = $1 WHERE id IN (1, 10)', [PRICE])
  return givenUser(context.service.db, { credits })
}
const submit = ({ key }: GivenUser, more: object = {}, query = '') =>
  call(context.service.url, 'POST', `/api/v1/generate${query}`, { key, body: { ...PROMPT, ...more } })
const create = ({ key }: GivenUser) => {
  const body = { prompt: PROMPT.prompt, model: 'noobai-xl', webhook_url: 'https://example.com/a' }
  return call(context.service.url, 'POST', '/v1/images/generate', { key, body })
}

describe('a model version with a price of its own', () => {
  it('charges that price for each image of a batch, and gives all of it back', async () => {
    const owner = await given(50)
    const { body, headers } = await submit(owner, { batch_size: 3 })
    expect(body.credits_charged).toBe(3 * PRICE)
    expect(headers.get('x-credits-remaining')).toBe('29')
    expect(await chargesOf(context.service.db, owner)).toEqual([['charge', -21]])
    await call(context.service.url, 'POST', `/api/v1/generate/${body.id}/cancel`, { key: owner.key })
    expect(await chargesOf(context.service.db, owner)).toEqual([
      ['charge', -21],
      ['refund', 21],
    ])
    expect(await creditsOf(context.service.db, owner)).toBe(50)
  })

  it('charges that price on Create Image, too', async () => {
    const owner = await given(50)
    expect((await create(owner)).headers.get('x-credits-remaining')).toBe('43')
    expect(await chargesOf(context.service.db, owner)).toEqual([['charge', -PRICE]])
  })

  it('is refused to a user who has a credit too few, naming the price and the balance', async () => {
    const owner = await given(2 * PRICE - 1)
    expectPersonalError(await submit(owner, { batch_size: 2 }), 402, /\b14\b.*\b13\b/)
    const poor = await given(PRICE - 1)
    expectCreateError(await create(poor), 402, 'insufficient_credits', /\b7\b.*\b6\b/)
    expect(await chargesOf(context.service.db, owner)).toEqual([])
    expect((await submit(await given(2 * PRICE), { batch_size: 2 })).status).toBe(201)
  })

  it('tells that price in a dry run', async () => {
    const { body } = await submit(await given(50), { batch_size: 2 }, '?dry_run=true')
    expect(body).toMatchObject({ credits_needed: 2 * PRICE, credits_held: 50, sufficient: true })
  })
})
