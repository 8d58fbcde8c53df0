import { describe, expect, it } from 'vitest'
import { type GivenUser, givenUser } from '../support/givens.js'
import { useEasel } from './easel.js'

const easel = useEasel()

async function givenRefused({ id }: GivenUser, prompt: string, category = 'test'): Promise<number> {
  const { rows } = await easel.db.pool.query(
    `INSERT INTO refused_prompts (user_id, parameter, category, matched, prompt)
     VALUES ($1, 'prompt', $3, ARRAY['one', 'two'], $2) RETURNING id`,
    [id, prompt, category],
  )
  return rows[0].id
}

describe('moderation', () => {
  it('lists refused prompts, newest first, of one user or category', async () => {
    const [user, other] = [await givenUser(easel.db), await givenUser(easel.db)]
    const first = await givenRefused(user, 'first')
    const second = await givenRefused(user, 'second\u202e', 'our mascot')
    await givenRefused(other, 'third')
    expect(await easel.json('moderation list --limit 1')).toMatchObject([{ prompt: 'third', username: other.username }])
    expect(await easel.json(`moderation list --user ${user.username}`)).toEqual([
      expect.objectContaining({ id: second, category: 'our mascot', matched: ['one', 'two'], wrong_at: null }),
      expect.objectContaining({ id: first, parameter: 'prompt', prompt: 'first', wrong_by: null }),
    ])
    expect(await easel.json(['moderation', 'list', '--category', 'our mascot'])).toMatchObject([{ id: second }])
    expect(await easel.text(['moderation', 'list', '--category', 'our mascot'])).toMatch(/second\\u202e$/)
    expect(await easel.text('moderation list --category none')).toBe('No such prompts.')
    expect(await easel.error('moderation list --user nobody')).toMatch(/^No user "nobody"/)
  })

  it('marks a refusal as wrong once, and records it', async () => {
    const user = await givenUser(easel.db)
    const id = await givenRefused(user, 'a lighthouse')
    for (let n = 0; n < 2; n++)
      expect(await easel.text(`moderation wrong ${id}`)).toBe(`The refusal of prompt ${id} is marked as wrong.`)
    expect(await easel.json(`moderation list --user ${user.username}`)).toMatchObject([
      { wrong_at: expect.any(String), wrong_by: expect.stringMatching(/^command line \(.+\)$/) },
    ])
    const { rows } = await easel.db.pool.query('SELECT action FROM operator_actions WHERE target = $1', [user.username])
    expect(rows).toEqual([{ action: `marked refused prompt ${id} as wrong` }])
    expect(await easel.error('moderation wrong 999999')).toBe(
      'No refused prompt has the ID 999999: "easel moderation list" shows them.',
    )
    expect(await easel.error('moderation wrong x')).toMatch(/^ID must be a whole number/)
  })
})

describe('moderation repeated', () => {
  const MINORS = ['sexual content with minors', 'sexual, sexual/minors', 'drawn image: sexual/minors']

  it('counts what was refused about minors in the last 30 days, by account, most first', async () => {
    const [often, twice, once] = [await givenUser(easel.db), await givenUser(easel.db), await givenUser(easel.db)]
    const other = await givenUser(easel.db)
    const ids: number[] = []
    for (const category of MINORS) ids.push(await givenRefused(often, 'x', category))
    const [first, , last] = ids
    await easel.db.pool.query(`UPDATE refused_prompts SET at = now() - interval '29 days' WHERE id = $1`, [first])
    for (let n = 0; n < 2; n++) await givenRefused(twice, 'x', MINORS[0])
    await givenRefused(once, 'x', MINORS[0])
    await givenRefused(once, 'x', 'sexual')
    for (let n = 0; n < 5; n++) await givenRefused(other, 'x', 'sexual')
    const { rows } = await easel.db.pool.query('SELECT at FROM refused_prompts WHERE id = ANY ($1) ORDER BY at', [
      [first, last],
    ])
    const times = rows.map(({ at }) => at.toISOString())
    expect(await easel.json('moderation repeated')).toEqual([
      { username: often.username, count: 3, first_at: times[0], last_at: times[1] },
      expect.objectContaining({ username: twice.username, count: 2 }),
    ])
    expect(await easel.json('moderation repeated --limit 1')).toHaveLength(1)
    expect(await easel.text('moderation repeated')).toMatch(
      new RegExp(`^user +count +first +last\\n${often.username} +3 +\\S.*\\n${twice.username} +2 +`),
    )
  })

  it('leaves out what is older, what was marked as wrong, and deleted accounts', async () => {
    await easel.db.pool.query('DELETE FROM refused_prompts')
    const [old, wronged, gone] = [await givenUser(easel.db), await givenUser(easel.db), await givenUser(easel.db)]
    for (const user of [old, wronged, gone])
      for (let n = 0; n < 2; n++) await givenRefused(user, 'x', 'sexual content with minors')
    await easel.db.pool.query(`UPDATE refused_prompts SET at = now() - interval '31 days' WHERE user_id = $1`, [old.id])
    const [{ id }] = await easel.json(`moderation list --user ${wronged.username}`)
    await easel.text(`moderation wrong ${id}`)
    expect(await easel.json('moderation repeated')).toMatchObject([{ username: gone.username }])
    await easel.json(`user delete ${gone.username}`)
    expect(await easel.json('moderation repeated')).toEqual([])
    expect(await easel.text('moderation repeated')).toBe('No account had two such refusals in the last 30 days.')
  })
})

describe('user delete', () => {
  it('ends sessions, and with --purge wipes refused prompts and what the user signed in with, and nobody else’s', async () => {
    const [user, other] = [await givenUser(easel.db), await givenUser(easel.db)]
    for (const { id } of [user, other]) {
      await easel.db.pool.query(`UPDATE users SET email = id || '@example.com', password_hash = 'x' WHERE id = $1`, [
        id,
      ])
      await easel.db.pool.query(
        `INSERT INTO sessions (token_hash, user_id, expires_at) VALUES (sha256($1::text::bytea), $1::text::uuid, now() + interval '1 day')`,
        [id],
      )
      await givenRefused({ id } as GivenUser, 'secret')
    }
    const sessions = async () =>
      (await easel.db.pool.query('SELECT user_id FROM sessions')).rows.map(({ user_id }) => user_id)
    await easel.json(`user delete ${user.username}`)
    expect(await sessions()).toEqual([other.id])
    expect(await easel.json(`moderation list --user ${user.username}`)).toHaveLength(1)
    await easel.json(`user delete ${user.username} --purge`)
    expect(await easel.json(`moderation list --user ${user.username}`)).toEqual([])
    const { rows } = await easel.db.pool.query(
      'SELECT id, email IS NULL AND password_hash IS NULL AS wiped FROM users WHERE id = ANY ($1)',
      [[user.id, other.id]],
    )
    expect(Object.fromEntries(rows.map(({ id, wiped }) => [id, wiped]))).toEqual({ [user.id]: true, [other.id]: false })
    expect(await easel.json(`moderation list --user ${other.username}`)).toHaveLength(1)
  })
})
