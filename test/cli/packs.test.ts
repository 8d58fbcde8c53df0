import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { SECRET_KEY, startStripeStandIn } from '../stand-ins/stripe/stripe-stand-in.js'
import { useEasel } from './easel.js'

const easel = useEasel()

async function fileOf(content: unknown): Promise<string> {
  const path = join(easel.storage, `${crypto.randomUUID()}.json`)
  await writeFile(path, JSON.stringify(content))
  return path
}
const SMALL = { name: 'Small', credits: 100, price: 'price_small' }

describe('packs', () => {
  it('are imported, listed and retired; the list can be imported again', async () => {
    const large = { name: 'Large', credits: 1000, price: 'price_large' }
    expect(await easel.json(['packs', 'import', await fileOf([large, SMALL])])).toEqual({ imported: 2 })
    expect(await easel.json('packs list')).toEqual([SMALL, large])
    expect(await easel.json('packs retire Small --reason dear')).toEqual({
      ...{ name: 'Small', retired_at: expect.any(String) },
    })
    expect(await easel.text('packs retire Small')).toBe('Pack "Small" is sold no more.')
    const list = await easel.json('packs list')
    expect(list).toEqual([large, { ...SMALL, retired_at: expect.any(String) }])
    expect(await easel.text(['packs', 'import', await fileOf(list)])).toBe(
      'Imported 2 packs. Nobody has checked the prices: STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET are not set here.',
    )
    expect(await easel.json('packs list')).toEqual(list)
    await easel.json(['packs', 'import', await fileOf([SMALL])])
    expect(await easel.json('packs list')).toEqual([SMALL, large])
    const { rows } = await easel.db.pool.query('SELECT action, target, reason FROM operator_actions ORDER BY id')
    expect(rows[1]).toEqual({ action: 'retired credit pack', target: 'Small', reason: 'dear' })
    expect(await easel.error('packs retire None')).toBe('No pack "None": "easel packs list" shows all.')
  })

  it.each([
    [{ ...SMALL, credits: 0 }, 'Entry 1: credits must be a whole number from 1 to 9007199254740991.'],
    [{ name: 'Small', credits: 1 }, 'Entry 1: price is missing.'],
    [
      { ...SMALL, price: 'a price' },
      'Entry 1: price must be the ID of a price at the payment provider, like price_1Abc.',
    ],
    [
      { ...SMALL, period: 'month' },
      'Entry 1: unknown field "period"; the fields are name, credits, price, retired_at.',
    ],
  ])('are refused in one sentence: %j', async (entry, sentence) => {
    expect(await easel.error(['packs', 'import', await fileOf([entry])])).toBe(sentence)
  })
})

describe('with Stripe', () => {
  let stripe: Awaited<ReturnType<typeof startStripeStandIn>>
  beforeAll(async () => {
    stripe = await startStripeStandIn()
    return () => stripe.close()
  })
  const env = () => ({ STRIPE_SECRET_KEY: SECRET_KEY, STRIPE_WEBHOOK_SECRET: 'whsec_1', STRIPE_API_URL: stripe.url })
  const refusal = async (what: 'plans' | 'packs', entry: object) =>
    easel.error([what, 'import', await fileOf([entry])], env())
  const plan = (price: string, period = 'month') => ({ name: 'Paid', credits: 500, period, unspent: 'expire', price })

  it('a price must be one that there is, and be paid as often as what it is for', async () => {
    const [once, month, year, week] = [undefined, 'month', 'year', 'week'].map(
      (every) => stripe.givenPrice({ every }).id,
    )
    const before = [await easel.json('plans list'), await easel.json('packs list')]
    expect(await refusal('plans', plan('price_none'))).toBe(
      '"Paid" cannot be sold: the payment provider has no active price price_none with a fixed amount; make one there, or correct its ID.',
    )
    const paid = (id: string, sentence: string) => `"Paid" cannot be sold: ${id} is paid ${sentence}.`
    expect(await refusal('plans', plan(year as string))).toBe(
      paid(year as string, 'each year; name a price that is paid each month'),
    )
    expect(await refusal('plans', plan(once as string, 'year'))).toBe(
      paid(once as string, 'once; name a price that is paid each year'),
    )
    expect(await refusal('plans', plan(week as string))).toBe(
      paid(week as string, 'at other times; name a price that is paid each month'),
    )
    expect(await refusal('packs', { name: 'Paid', credits: 1, price: month })).toBe(
      paid(month as string, 'each month; name a price that is paid once'),
    )
    expect([await easel.json('plans list'), await easel.json('packs list')]).toEqual(before)
    await easel.json(['plans', 'import', await fileOf([plan(month as string)])], env())
    await easel.json(['packs', 'import', await fileOf([{ ...SMALL, price: once }])], env())
  })

  it('all that is sold has one currency; what is not for sale, retired or replaced may have another one', async () => {
    const [eur, usd] = ['eur', 'usd'].map((currency) => stripe.givenPrice({ currency, every: 'month' }).id)
    const [eurOnce, usdOnce] = ['eur', 'usd'].map((currency) => stripe.givenPrice({ currency }).id)
    const sold = (name: string, price: string | undefined) => ({ ...plan(price as string), name, for_sale: true })
    const pack = (name: string, price: string | undefined) => ({ name, credits: 1, price })
    const mixed =
      /^"\w+" cannot be sold: price_\w+ is in usd, and "\w+" is sold in eur, but who has paid .+ retire the other first\.$/
    await easel.json(['plans', 'import', await fileOf([sold('Euros', eur), plan(usd as string)])], env())
    expect(await refusal('packs', pack('Dollars', usdOnce))).toMatch(mixed)
    expect(await refusal('plans', sold('Dollars', usd))).toMatch(mixed)
    expect(
      await easel.error(['packs', 'import', await fileOf([pack('A', usdOnce), pack('B', eurOnce)])], env()),
    ).toMatch(/is in usd, and "B" is sold in eur/)
    await easel.json('plans retire Euros')
    for (const { name } of await easel.json('packs list')) await easel.json(['packs', 'retire', name])
    await easel.json(['packs', 'import', await fileOf([pack('Dollars', usdOnce)])], env())
    await easel.json(['packs', 'import', await fileOf([pack('Dollars', eurOnce)])], env())
  })

  it('that is away nothing is imported, and the sentence says why', async () => {
    stripe.set({ fault: { status: 500 } })
    onTestFinished(() => stripe.set({ fault: 'none' }))
    expect(await refusal('plans', plan('price_1'))).toMatch(
      /^The payment provider could not say whether there is the price price_1: .+/,
    )
  })
})
