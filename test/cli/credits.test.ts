import { describe, expect, it } from 'vitest'
import { runCli } from '../../src/cli/run-cli.js'
import { creditsOf, givenGeneration, givenUser } from '../support/givens.js'
import { useEasel } from './easel.js'

const easel = useEasel()

describe('credits grant', () => {
  it('moves balance and ledger together', async () => {
    const user = await givenUser(easel.db, { credits: 10 })
    expect(
      await easel.json(['credits', 'grant', user.username, '32', '--note', 'Invoice of May', '--ref', 'in-1']),
    ).toEqual({ username: user.username, credits: 42, granted: true })
    expect(await creditsOf(easel.db, user)).toBe(42)
    expect((await easel.json(`credits history ${user.username}`)).at(-1)).toEqual({
      kind: 'grant',
      delta: 32,
      balance: 42,
      expiring_delta: 0,
      generation_id: null,
      note: 'Invoice of May',
      ref: 'in-1',
      created_at: expect.any(String),
    })
    expect(await easel.text(`credits grant ${user.username} 8`)).toBe(`${user.username} now holds 50 credits.`)
  })

  it('grants once for the same reference, however often and at once it is asked', async () => {
    const user = await givenUser(easel.db, { credits: 0 })
    const grant = `credits grant ${user.username} 5 --ref in-7`
    await Promise.all(Array.from({ length: 6 }, () => easel.json(grant)))
    expect(await easel.json(grant)).toEqual({ username: user.username, credits: 5, granted: false })
    expect(await easel.text(grant)).toBe(
      `${user.username} now holds 5 credits. "in-7" was granted before: nothing changed.`,
    )
    expect(await easel.json(`credits history ${user.username}`)).toHaveLength(1)
  })

  it('refuses a reference that was given for another amount', async () => {
    const user = await givenUser(easel.db, { credits: 0 })
    await easel.json(`credits grant ${user.username} 5 --ref in-8`)
    expect(await easel.error(`credits grant ${user.username} 6 --ref in-8`)).toBe(
      `"in-8" is the reference of 5 credits granted to ${user.username} before, so nothing was granted: give another --ref.`,
    )
    expect(await creditsOf(easel.db, user)).toBe(5)
  })

  it('refuses a reference that was given to another user, also to one who is deleted or granted to at once', async () => {
    const [first, second] = [await givenUser(easel.db, { credits: 0 }), await givenUser(easel.db, { credits: 0 })]
    await easel.json(`credits grant ${first.username} 5 --ref shared`)
    const taken = `"shared" is the reference of 5 credits granted to ${first.username} before, so nothing was granted: give another --ref.`
    expect(await easel.error(`credits grant ${second.username} 5 --ref shared`)).toBe(taken)
    await easel.json(`user delete ${first.username}`)
    expect(await easel.error(`credits grant ${second.username} 5 --ref shared`)).toBe(taken)
    const others = await Promise.all(Array.from({ length: 6 }, () => givenUser(easel.db, { credits: 0 })))
    const ran = await Promise.all(others.map((it) => easel.run(`credits grant ${it.username} 5 --ref at-once`)))
    expect(ran.map((it) => it.code).sort()).toEqual([0, 1, 1, 1, 1, 1])
    const balances = await Promise.all(others.map((it) => creditsOf(easel.db, it)))
    expect(balances.sort()).toEqual([0, 0, 0, 0, 0, 5])
  })

  it('repeats a grant whose reference others have, too, from the time when that was allowed', async () => {
    const users = [await givenUser(easel.db, { credits: 0 }), await givenUser(easel.db, { credits: 0 })]
    for (const { id } of users)
      await easel.db.pool.query(
        `INSERT INTO credit_ledger (user_id, kind, delta, balance, ref) VALUES ($1, 'grant', 5, 5, 'old')`,
        [id],
      )
    for (const user of users)
      expect(await easel.json(`credits grant ${user.username} 5 --ref old`)).toMatchObject({ granted: false })
  })

  it('wants more than a million credits confirmed: on a terminal, or by --yes', async () => {
    const user = await givenUser(easel.db, { credits: 0 })
    const refusal =
      '1000001 credits are more than 1000000 at once, so nothing was done: add --yes if that is what you mean.'
    expect(await easel.error(`credits grant ${user.username} 1000001`)).toBe(refusal)
    expect(await easel.error('user create rich --credits 1000001')).toBe(refusal)
    expect(await easel.error('user show rich')).toMatch(/^No user/)
    expect(await creditsOf(easel.db, user)).toBe(0)
    const asked: string[] = []
    const answering = (yes: boolean) => async (question: string) => asked.push(question) > 0 && yes
    const line = ['credits', 'grant', user.username, '1000001']
    const surroundings = { stdout: { write: () => undefined }, stderr: { write: () => undefined } }
    expect(await runCli(line, easel.env, { ...surroundings, confirm: answering(false) })).toBe(1)
    expect(await creditsOf(easel.db, user)).toBe(0)
    expect(await runCli(line, easel.env, { ...surroundings, confirm: answering(true) })).toBe(0)
    expect(asked).toEqual(Array(2).fill('Give 1000001 credits?'))
    await easel.json(`credits grant ${user.username} 1000001 --yes`)
    await easel.json(`credits grant ${user.username} 1000000`)
    expect(await creditsOf(easel.db, user)).toBe(3_000_002)
    expect(await easel.json('user create rich --credits 1000001 --yes')).toMatchObject({ credits: 1_000_001 })
  })

  it('loses no grant of many at once', async () => {
    const user = await givenUser(easel.db, { credits: 0 })
    await Promise.all(Array.from({ length: 8 }, () => easel.json(`credits grant ${user.username} 3`)))
    expect(await creditsOf(easel.db, user)).toBe(24)
    expect((await easel.json(`credits history ${user.username}`)).at(-1)).toMatchObject({ balance: 24 })
  })

  it('refuses what is no positive whole number, and more than a balance can hold', async () => {
    const { username } = await givenUser(easel.db, { credits: 1 })
    for (const n of ['0', '-5', '1.5', '1e3', 'many', '99999999999999999']) {
      expect(await easel.error(`credits grant ${username} ${n}`)).toBe(
        `N must be a whole number from 1 to 9007199254740991, not "${n}".`,
      )
    }
    expect(await easel.error(`credits grant ${username} 9007199254740991 --yes`)).toBe(
      `User "${username}" would hold more than 9007199254740991 credits: grant fewer.`,
    )
    expect(await easel.error(['credits', 'grant', username, '1', '--ref', ''])).toBe(
      '--ref must be one line of 1 to 200 characters.',
    )
    expect(await easel.error('credits grant nobody 1')).toBe('No user "nobody": "easel user list" shows all.')
  })
})

describe('credits history', () => {
  it('shows every movement, oldest first', async () => {
    const user = await givenUser(easel.db, { credits: 10 })
    const { id } = await givenGeneration(easel.db, user, { batchSize: 3 })
    await easel.json(`jobs cancel ${id}`)
    const history = await easel.json(`credits history ${user.username}`)
    expect(history).toMatchObject([
      { kind: 'grant', delta: 10, balance: 10, generation_id: null },
      { kind: 'charge', delta: -3, balance: 7, generation_id: id },
      { kind: 'refund', delta: 3, balance: 10, generation_id: id },
    ])
    const lines = (await easel.text(`credits history ${user.username}`)).split('\n')
    expect(lines[0]).toMatch(/^time +kind +delta +balance +job +note +ref$/)
    expect(lines[2]).toMatch(new RegExp(`^\\S+Z +charge +-3 +7 +${id} +- +-$`))
  })

  it('says when there is nothing', async () => {
    const { username } = await givenUser(easel.db, { credits: 0 })
    expect(await easel.json(`credits history ${username}`)).toEqual([])
    expect(await easel.text(`credits history ${username}`)).toBe('No credits ever moved.')
  })
})
