import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { call, expectPersonalError, PROMPT } from '../../support/client.js'
import { type GivenUser, givenUser, type UserOptions } from '../../support/givens.js'
import { useService } from '../../support/service.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000' } })
const user = (options?: UserOptions) => givenUser(context.service.db, options)
const account = ({ key }: GivenUser) => call(context.service.url, 'GET', '/api/v1/account', { key })

const AHEAD = new Date('2199-12-31T23:59:59.123Z')
const PAST = new Date('2020-02-29T00:00:00.000Z')

describe('GET /api/v1/account', () => {
  it('shows the name, the credits and the subscription, and nothing else', async () => {
    const owner = await user({ credits: 7, subscription: { plan: 'Pro', endDate: AHEAD } })
    expect(await account(owner)).toMatchObject({ status: 200 })
    expect((await account(owner)).body).toEqual({
      username: owner.username,
      credits: 7,
      subscription: { status: 'active', plan: 'Pro', endDate: '2199-12-31T23:59:59.123Z' },
    })
  })

  it('needs no subscription, and shows null where there is none', async () => {
    const owner = await user({ credits: 0, subscription: null })
    expect((await account(owner)).body).toEqual({ username: owner.username, credits: 0, subscription: null })
  })

  it.each([
    ['a subscription that was canceled as canceled', { status: 'canceled', endDate: AHEAD }, 'canceled'],
    ['a subscription that has ended as expired', { status: 'active', endDate: PAST }, 'expired'],
    ['a subscription that was canceled and has ended as expired', { status: 'canceled', endDate: PAST }, 'expired'],
    ['a status of the operator’s own as it is', { status: 'past_due', endDate: AHEAD }, 'past_due'],
  ])('shows %s', async (_name, subscription, status) => {
    const { body } = await account(await user({ subscription }))
    expect(body.subscription).toEqual({ status, plan: 'Pro', endDate: subscription.endDate.toISOString() })
  })

  it.each([
    ['runs', 1000, 3600, 'active', 201],
    ['has ended', -1000, -3600, 'expired', 403],
  ])(
    'judges a subscription that %s by Postgres’s clock, not by the server’s own',
    async (_name, endsIn, ownAhead, status, code) => {
      const owner = await user({ subscription: { endDate: new Date(Date.now() + endsIn * 1000) } })
      vi.setSystemTime(Date.now() + ownAhead * 1000)
      onTestFinished(() => void vi.useRealTimers())
      expect((await account(owner)).body.subscription.status).toBe(status)
      const submitted = await call(context.service.url, 'POST', '/api/v1/generate', { key: owner.key, body: PROMPT })
      expect(submitted.status).toBe(code)
    },
  )

  it('shows a balance beyond 32 bits as it is', async () => {
    expect((await account(await user({ credits: 9_007_199_254_740_991 }))).body.credits).toBe(9_007_199_254_740_991)
  })

  it('shows the credits without what a submit has just charged', async () => {
    const owner = await user({ credits: 5 })
    await call(context.service.url, 'POST', '/api/v1/generate', { key: owner.key, body: { ...PROMPT, batch_size: 4 } })
    expect((await account(owner)).body.credits).toBe(1)
  })

  it('answers 404 when the user was deleted', async () => {
    const owner = await user()
    await context.service.db.pool.query('UPDATE users SET deleted_at = now() WHERE id = $1', [owner.id])
    expectPersonalError(await account(owner), 404, /^User not found/)
  })
})
