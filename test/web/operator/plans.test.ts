import { beforeAll, describe, expect, it } from 'vitest'
import { planStore } from '../../../src/db/accounts/plans.js'
import { givenPlan, givenSubscriber } from '../../support/given-plan.js'
import { givenOperator } from '../../support/given-sign-in.js'
import { MODEL } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { unrecordable } from '../../support/unrecordable.js'
import { textOf, visit } from '../../support/website-client.js'
import { HOSTILE } from './given-console.js'

const context = useService()
let operator: Awaited<ReturnType<typeof givenOperator>>

beforeAll(async () => {
  operator = await givenOperator(context.service.db)
})

const PATH = '/operator/plans'
type Pairs = readonly (readonly [string, string])[]
const send = (path: string, body?: Record<string, string> | Pairs) =>
  visit(context.service.url, path, { body, cookie: operator.cookie })
const aName = () => `Plan ${crypto.randomUUID()}`
const FORM = {
  ...{ existing: '', credits: '500', period: 'month', unspent: 'expire', keep_at_most: '', sign_up_credits: '' },
  ...{ allowed: 'all', rate_limit: '', reason: 'new prices' },
}
const save = (form: Record<string, string>, models: readonly number[] = []) =>
  send(PATH, [...Object.entries({ ...FORM, ...form }), ...models.map((id) => ['models', `${id}`] as const)])
const find = (name: string) => planStore(context.service.db).find(name)
const problemIn = (html: string) => textOf(/<p class="problem"[^>]*>(.*?)<\/p>/s.exec(html)?.[1] ?? '')

async function recordedOf(name: string): Promise<string[]> {
  const { rows } = await context.service.db.pool.query(
    'SELECT action, reason FROM operator_actions WHERE target = $1 AND actor = $2 ORDER BY id',
    [name, operator.username],
  )
  return rows.map(({ action, reason }) => `${action}: ${reason}`)
}

describe('the page of plans', () => {
  it('lists each plan with what it grants and allows, and how many have it', async () => {
    const { db } = context.service
    const more = {
      credits: 1200,
      carryOver: 300,
      signUpCredits: 50,
      models: [MODEL.id],
      rateLimit: 60,
      forSale: true,
      price: 'price_1',
    }
    const plan = await givenPlan(db, { ...more, name: `${HOSTILE} ${aName()}` })
    await givenSubscriber(db, plan)
    const { status, html } = await send(PATH)
    expect(status).toBe(200)
    const row = html.split(/<\/?tr>/).find((it) => textOf(it).includes(plan.name)) ?? ''
    expect(textOf(row)).toBe(`${plan.name}for sale1,200 a month50 at sign-up300 stay1 version601Change ${plan.name}`)
    expect(html).not.toContain('<img src=x')
  })

  it('adds a plan, which is recorded', async () => {
    const name = aName()
    const { location } = await save({
      name,
      sign_up_credits: '50',
      rate_limit: '60',
      retain_prompts_days: '30',
      retain_images_days: '',
      price: ' price_2 ',
      for_sale: 'yes',
    })
    expect((await send(location as string)).html).toContain('The plan is saved.')
    expect(await find(name)).toEqual({
      ...{ name, credits: 500, period: 'month', carryOver: 0, signUpCredits: 50, models: null },
      ...{ retainPromptsDays: 30, retainImagesDays: null },
      ...{ rateLimit: 60, forSale: true, retiredAt: null, price: 'price_2' },
    })
    expect(await recordedOf(name)).toEqual(['saved plan: new prices'])
  })

  it.each([
    ['all expires', { unspent: 'expire' }, 0],
    ['all stays', { unspent: 'keep', keep_at_most: '7' }, null],
    ['some stays', { unspent: 'keep_at_most', keep_at_most: '200' }, 200],
  ])('stores what is left at the end: %s', async (_, form, carryOver) => {
    const name = aName()
    await save({ name, ...form })
    expect((await find(name))?.carryOver).toBe(carryOver)
  })

  it('shows a plan as it is in the form, and changes what is changed there', async () => {
    const { db } = context.service
    const plan = await givenPlan(db, { carryOver: 300, models: [1, 2], period: 'year', rateLimit: 60 })
    const { html } = await send(`${PATH}?plan=${encodeURIComponent(plan.name)}`)
    expect(html).toMatch(/<option value="year" selected/)
    expect(html).toMatch(/id="keep_at_most"[^>]* value="300"/)
    expect([...html.matchAll(/name="models" value="(\d+)" checked/g)].map(([, id]) => id).sort()).toEqual(['1', '2'])
    const kept = { unspent: 'keep_at_most', keep_at_most: '300', period: 'year', rate_limit: '60' }
    // Whatever name is sent besides.
    const sent = { ...kept, existing: plan.name, name: 'other', credits: '7', allowed: 'some' }
    expect((await save(sent, [2, 3])).status).toBe(303)
    expect(await find(plan.name)).toEqual({ ...plan, credits: 7, models: [2, 3] })
    expect(await find('other')).toBeUndefined()
  })

  it('adds no plan in place of one that has the name', async () => {
    const plan = await givenPlan(context.service.db)
    const { status, html } = await save({ name: plan.name, credits: '7' })
    expect([status, problemIn(html)]).toEqual([400, 'There is a plan of this name already: choose Change in its row.'])
    expect(await find(plan.name)).toEqual(plan)
  })

  it.each([
    ['no reason', { reason: ' ' }, [], 'Say why in one line'],
    ['no name', { name: ' ' }, [], 'The name must be one line of 1 to 100 characters.'],
    ['a name of two lines', { name: 'a\nb' }, [], 'The name must be one line'],
    ['no credits', { credits: '' }, [], 'The credits must be a whole number from 0 to'],
    ['half a credit', { credits: '1.5' }, [], 'The credits must be a whole number'],
    ['a week', { period: 'week' }, [], 'The period must be "month" or "year".'],
    ['no number that stays', { unspent: 'keep_at_most' }, [], 'Say how many credits stay at most'],
    ['a number below 0', { sign_up_credits: '-1' }, [], 'The sign up credits must be a whole number'],
    ['a rate limit of 0', { rate_limit: '0' }, [], 'The rate limit must be a whole number from 1 to 1000000'],
    ['only these, and none', { allowed: 'some' }, [], 'Tick at least one model version, or choose all.'],
    [
      'a model that there is not',
      { allowed: 'some' },
      [999],
      'names model version 999, which there is not: untick it and save again.',
    ],
  ])('refuses %s in one sentence, keeps what was typed, and stores nothing', async (_, changes, models, sentence) => {
    const before = await planStore(context.service.db).list()
    const { status, html } = await save({ name: aName(), rate_limit: '61', ...changes }, models)
    expect([status, problemIn(html)]).toEqual([400, expect.stringContaining(sentence)])
    expect(html).toMatch(new RegExp(`id="rate_limit"[^>]* value="${'rate_limit' in changes ? '0' : '61'}"`))
    expect(await planStore(context.service.db).list()).toEqual(before)
  })

  it('retires a plan with a reason, once, and offers it again when it is saved', async () => {
    const { name } = await givenPlan(context.service.db, { forSale: true })
    expect((await send(`${PATH}/retire`, { name, reason: '' })).status).toBe(400)
    expect(await find(name)).toMatchObject({ retiredAt: null, forSale: true })
    const { location } = await send(`${PATH}/retire`, { name, reason: 'too cheap' })
    expect((await send(location as string)).html).toContain('The plan is retired')
    expect(await find(name)).toMatchObject({ retiredAt: expect.any(Date), forSale: false })
    const { html } = await send(`${PATH}?plan=${encodeURIComponent(name)}`)
    expect(html).toContain('Saving it offers it again.')
    expect(html).not.toContain('Retire plan')
    await save({ existing: name, name })
    expect((await find(name))?.retiredAt).toBeNull()
    expect(await recordedOf(name)).toEqual(['retired plan: too cheap', 'saved plan: new prices'])
  })

  it('knows only plans that there are', async () => {
    for (const answer of [
      await send(`${PATH}?plan=nothing`),
      await send(`${PATH}/retire`, { name: 'nothing', reason: 'x' }),
    ])
      expect([answer.status, answer.html.includes('No plan')]).toEqual([404, true])
  })

  it('does nothing that cannot be recorded', async () => {
    const plan = await givenPlan(context.service.db)
    await unrecordable(context.service.db, async () => {
      expect((await save({ existing: plan.name, credits: '7' })).status).toBe(500)
      expect((await send(`${PATH}/retire`, { name: plan.name, reason: 'x' })).status).toBe(500)
    })
    expect(await find(plan.name)).toEqual(plan)
  })
})
