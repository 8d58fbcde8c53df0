import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { givenUser } from '../support/givens.js'
import { useEasel } from './easel.js'

const easel = useEasel()

const BASIC = { name: 'Basic', credits: 100, period: 'month', unspent: 'expire' }

async function fileOf(content: unknown): Promise<string> {
  const path = join(easel.storage, `${crypto.randomUUID()}.json`)
  await writeFile(path, JSON.stringify(content))
  return path
}
const imported = async (...plans: object[]) => easel.json(['plans', 'import', await fileOf(plans)])

describe('plans import', () => {
  it('adds plans, whose list can be imported again', async () => {
    const keeps = { retain_prompts_days: 30, retain_images_days: 0 }
    const pro = {
      ...{ ...BASIC, name: 'Pro', credits: 500, unspent: { keep_at_most: 200 }, models: [1], rate_limit: 60, ...keeps },
    }
    const usual = { retain_prompts_days: null, retain_images_days: null }
    expect(
      await imported(BASIC, pro, {
        ...BASIC,
        name: 'Year',
        period: 'year',
        unspent: 'keep',
        price: 'price_1',
        for_sale: true,
      }),
    ).toEqual({
      imported: 3,
    })
    const list = await easel.json('plans list')
    expect(list).toEqual([
      { ...BASIC, ...usual, sign_up_credits: 0, models: null, rate_limit: null, price: null, for_sale: false },
      {
        ...BASIC,
        ...usual,
        name: 'Year',
        period: 'year',
        unspent: 'keep',
        sign_up_credits: 0,
        models: null,
        rate_limit: null,
        price: 'price_1',
        for_sale: true,
      },
      { ...pro, sign_up_credits: 0, price: null, for_sale: false },
    ])
    expect(await imported(...list)).toEqual({ imported: 3 })
    expect(await easel.json('plans list')).toEqual(list)
  })

  it.each([
    [{ ...BASIC, credits: -1 }, 'Entry 1: credits must be a whole number from 0 to 9007199254740991.'],
    [{ ...BASIC, credits: undefined }, 'Entry 1: credits is missing.'],
    [{ ...BASIC, period: 'week' }, 'Entry 1: period must be "month" or "year".'],
    [{ ...BASIC, unspent: 'lose' }, 'Entry 1: unspent must be "keep", "expire" or {"keep_at_most": N}.'],
    [{ ...BASIC, unspent: { keep_at_most: -1 } }, 'Entry 1: unspent must be "keep", "expire" or {"keep_at_most": N}.'],
    [{ ...BASIC, models: [] }, 'Entry 1: models must be a list of IDs of model versions, or left out for all.'],
    [{ ...BASIC, rate_limit: 0 }, 'Entry 1: rate_limit must be a whole number from 1 to 1000000, or left out.'],
    [
      { ...BASIC, retain_prompts_days: -1 },
      'Entry 1: retain_prompts_days must be a whole number of days from 1 to 36500, 0 for ever, or left out.',
    ],
    [{ ...BASIC, name: 'a\nb' }, 'Entry 1: name must be one line of 1 to 100 characters.'],
    [
      { ...BASIC, cost: 3 },
      'Entry 1: unknown field "cost"; the fields are name, credits, period, unspent, sign_up_credits, models, rate_limit, retain_prompts_days, retain_images_days, price, for_sale, retired_at.',
    ],
    [
      { ...BASIC, price: 3 },
      'Entry 1: price must be the ID of a price at the payment provider, like price_1Abc, or left out.',
    ],
    [{ ...BASIC, for_sale: true }, 'Entry 1: for_sale needs a price: the ID of one at the payment provider.'],
    ['Basic', 'Entry 1: must be a JSON object.'],
  ])('refuses an entry that cannot be a plan, in one sentence: %j', async (entry, sentence) => {
    const before = await easel.json('plans list')
    expect(await easel.error(['plans', 'import', await fileOf([entry, { ...BASIC, name: 'Other' }])])).toBe(sentence)
    expect(await easel.json('plans list')).toEqual(before)
  })

  it('refuses a model version that there is not, and two plans of one name', async () => {
    const before = await easel.json('plans list')
    expect(
      await easel.error(['plans', 'import', await fileOf([BASIC, { ...BASIC, name: 'X', models: [1, 987654] }])]),
    ).toBe('Plan "X" names model version 987654, which there is not: "easel models list" shows them.')
    expect(await easel.error(['plans', 'import', await fileOf([BASIC, BASIC])])).toBe(
      'Entries 1 and 2 have the same name, Basic.',
    )
    expect(await easel.json('plans list')).toEqual(before)
  })

  it('refuses a price that another plan has: who pays it would have either', async () => {
    await imported({ ...BASIC, name: 'First', price: 'price_shared' })
    const sentence =
      'Plans "First" and "Second" have the same price, price_shared: make one for each at the payment provider.'
    const second = { ...BASIC, name: 'Second', price: 'price_shared' }
    expect(await easel.error(['plans', 'import', await fileOf([second])])).toBe(sentence)
    const first = { ...BASIC, name: 'First', price: 'price_shared' }
    expect(await easel.error(['plans', 'import', await fileOf([first, second])])).toBe(sentence)
    await imported({ ...first, price: 'price_other' }, second)
  })
})

describe('plans show and retire', () => {
  it('say what a plan is, who has it, and that it is sold no more', async () => {
    await imported({ ...BASIC, name: 'Old', price: 'price_old', for_sale: true })
    await givenUser(easel.db, { subscription: { plan: 'Old' } })
    await givenUser(easel.db, { subscription: { plan: 'Old', status: 'canceled' } })
    expect(await easel.json('plans show Old')).toMatchObject({ name: 'Old', subscribers: 1, retired_at: null })
    expect(await easel.text('plans retire Old --reason gone')).toBe('Plan "Old" is sold no more; who has it keeps it.')
    expect(await easel.json('plans show Old')).toMatchObject({ for_sale: false, retired_at: expect.any(String) })
    expect((await easel.text('plans list')).split('\n').at(-1)).toMatch(/^Old +100 +month +expires /)
    // A list that is imported again changes nothing; without the field, the plan is on offer again.
    const list: { name: string; retired_at?: string }[] = await easel.json('plans list')
    await imported(...list)
    expect(await easel.json('plans list')).toEqual(list)
    const { retired_at: _, ...old } = list.find(({ name }) => name === 'Old') as (typeof list)[number]
    await imported(old)
    expect(await easel.json('plans show Old')).toMatchObject({ retired_at: null })
    expect(await easel.error('plans retire None')).toBe('No plan "None": "easel plans list" shows all.')
    expect(await easel.error('plans show None')).toBe('No plan "None": "easel plans list" shows all.')
  })
})

describe('a name that no plan has', () => {
  const csvOf = async (...lines: string[]) => {
    const path = join(easel.storage, `${crypto.randomUUID()}.csv`)
    await writeFile(path, lines.join('\n'))
    return path
  }
  const planOf = async (name: string) => (await easel.json(`user show ${name}`)).subscription?.plan
  const meant = 'or give --unlisted to begin a subscription that grants nothing and allows everything.'

  it('is refused with the one that is near, unless it is said to be meant', async () => {
    await imported({ ...BASIC, name: 'Studio Plus' })
    const user = await givenUser(easel.db, { subscription: null })
    for (const slip of ['Studio Puls', 'studio plus', 'Studio  Plus', 'Studio\u00a0Plus', 'Ѕtudio Plus', 'StudioPlus'])
      for (const command of [
        ['user', 'create', 'slip', '--plan', slip],
        ['subscription', 'set', user.username, '--plan', slip],
      ])
        expect(await easel.error(command)).toBe(`There is no plan "${slip}": write "Studio Plus", ${meant}`)
    expect(await easel.error(['user', 'create', 'slip', '--plan', 'Kolkhoz'])).toMatch(
      /^There is no plan "Kolkhoz": name one of ".+", or give --unlisted to begin/,
    )
    expect(await easel.error('user show slip')).toMatch(/^No user/)
    await easel.json(['user', 'create', 'guest', '--plan', 'Guests', '--unlisted'])
    expect(await planOf('guest')).toBe('Guests')
    // What it has already is not asked about.
    await easel.json('subscription set guest --plan Guests --until 2099-01-01')
    await easel.json(['subscription', 'set', user.username, '--plan', ' Studio Plus '])
    expect(await planOf(user.username)).toBe('Studio Plus')
    expect(await easel.text('plans list')).toContain('because no plan has them: "Guests" (1 account)')
  })

  it('is refused in a file of users, of which nothing is done, and kept where a user has it', async () => {
    await imported({ ...BASIC, name: 'Class' })
    await easel.json(['user', 'create', 'pupil', '--plan', 'Clas', '--unlisted'])
    const file = await csvOf('name,plan', 'first,Class', 'second,Clsas')
    for (const more of [[], ['--dry-run']])
      expect(await easel.error(['user', 'import', file, ...more])).toBe(
        `User "second": there is no plan "Clsas": write "Class", ${meant}`,
      )
    expect(await easel.error('user show first')).toMatch(/^No user/)
    await easel.json(['user', 'import', await csvOf('name,plan,email', 'pupil,Clas,pupil@example.com')])
    await easel.json(['user', 'import', file, '--unlisted'])
    expect(await planOf('second')).toBe('Clsas')
  })

  it('is refused where people do not see all of it, or its letters are not in UTF-8', async () => {
    const unseen = 'must have no characters that nobody sees or that change the direction of text: write it again.'
    for (const hidden of ['\u202eorP', 'P\u200bro', 'Pro\u2066', 'Pr\u00ado'])
      for (const [at, command] of [
        ['--plan', ['user', 'create', 'hidden', '--unlisted', '--plan', hidden]],
        ['--plan', ['subscription', 'set', 'hidden', '--unlisted', '--plan', hidden]],
        ['Line 2: plan', ['user', 'import', await csvOf('name,plan', `hidden,${hidden}`)]],
        ['Entry 1: name', ['plans', 'import', await fileOf([{ ...BASIC, name: hidden }])]],
      ] as const)
        expect(await easel.error([...command])).toBe(`${at} ${unseen}`)
    const path = await csvOf()
    await writeFile(path, Buffer.from('name,plan\nlatin,Caf\u00e9\n', 'latin1'))
    expect(await easel.error(['user', 'import', path])).toMatch(/UTF-8/)
  })

  it('cannot become a plan beside one that people would take for it', async () => {
    await imported({ ...BASIC, name: 'Gallery' })
    for (const alike of ['gallery', 'Gаllery', 'GALLERY'])
      expect(await easel.error(['plans', 'import', await fileOf([{ ...BASIC, name: alike }])])).toBe(
        `People would take plan "${alike}" for "Gallery": choose a name that reads differently.`,
      )
    await imported({ ...BASIC, name: ' Gallery ', credits: 7 })
    expect(await easel.json('plans show Gallery')).toMatchObject({ credits: 7 })
  })
})

describe('credits adjust', () => {
  it('corrects a balance, down to 0 unless told otherwise, and says what it took', async () => {
    const { username } = await givenUser(easel.db, { credits: 10 })
    const adjust = (n: string, ...more: string[]) => ['credits', 'adjust', username, n, '--reason', 'A slip', ...more]
    expect(await easel.json(adjust('-4'))).toEqual({ username, credits: 6, adjusted: -4 })
    expect(await easel.text(adjust('-50'))).toBe(
      `${username} now holds 0 credits. Only 6 of 50 were taken, down to 0: --below-zero takes more.`,
    )
    expect(await easel.error(adjust('-1'))).toBe(
      `User "${username}" holds 0 credits, so nothing was taken: --below-zero lets the balance fall below 0.`,
    )
    expect(await easel.json(adjust('-5', '--below-zero'))).toEqual({ username, credits: -5, adjusted: -5 })
    expect(await easel.json(adjust('8'))).toEqual({ username, credits: 3, adjusted: 8 })
    const history = await easel.json(`credits history ${username}`)
    expect(history.at(-1)).toMatchObject({ kind: 'adjustment', delta: 8, balance: 3, note: 'A slip' })
    const { rows } = await easel.db.pool.query(
      `SELECT action, reason FROM operator_actions WHERE target = $1 ORDER BY id`,
      [username],
    )
    expect(rows.at(-1)).toEqual({ action: 'corrected the credits by 8', reason: 'A slip' })
    expect(rows).toHaveLength(4)
  })

  it('wants a reason, a number, and a word about very many', async () => {
    const { username } = await givenUser(easel.db, { credits: 10 })
    expect(await easel.error(`credits adjust ${username} -4`)).toMatch(/--reason/)
    expect(await easel.error(`credits adjust ${username} 0 --reason x`)).toMatch(
      /^N must be a whole number from -\d+ to \d+ and not 0, not "0"\.$/,
    )
    expect(await easel.error(`credits adjust ${username} -2000000 --reason x`)).toBe(
      '-2000000 credits are more than 1000000 at once, so nothing was done: add --yes if that is what you mean.',
    )
  })
})
