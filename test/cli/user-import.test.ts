import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { useEasel } from './easel.js'

const easel = useEasel()

async function fileOf(...lines: string[]): Promise<string> {
  const path = join(easel.storage, `${crypto.randomUUID()}.csv`)
  await writeFile(path, lines.join('\n'))
  return path
}
const show = (name: string) => easel.json(`user show ${name}`)

describe('user import', () => {
  it('creates all users of a file, and may be repeated', async () => {
    const file = await fileOf(
      'name,email,plan,until,credits',
      'ada,ada@example.com,Pro,2099-12-31,100',
      '"bob",bob@example.com,"Basic, yearly",,',
      '',
      'eve,,,,5',
    )
    expect(await easel.json(['user', 'import', file])).toEqual({
      ...{ dry_run: false, created: 3, changed: 0, unchanged: 0 },
      users: ['ada', 'bob', 'eve'].map((username) => ({ username, outcome: 'created' })),
    })
    expect(await show('ada')).toMatchObject({
      ...{ email: 'ada@example.com', credits: 100 },
      subscription: { plan: 'Pro', status: 'active', endDate: '2099-12-31T23:59:59.999Z' },
    })
    expect(await show('bob')).toMatchObject({ credits: 0, subscription: { plan: 'Basic, yearly' } })
    expect(await show('eve')).toMatchObject({ credits: 5, subscription: null, email: null })
    expect(await easel.text(['user', 'import', file])).toMatch(/\n\n0 created, 0 changed, 3 unchanged\.$/)
    expect(await show('ada')).toMatchObject({ credits: 100 })
  })

  it('changes what the file says otherwise, says so before with --dry-run, and records it', async () => {
    await easel.json(['user', 'import', await fileOf('name,plan', 'cleo,Basic')])
    const file = await fileOf('name;email;plan;until', 'CLEO;cleo@example.com;Pro;2099-06-30')
    const before = await show('cleo')
    expect(await easel.text(['user', 'import', file, '--dry-run'])).toMatch(
      /CLEO +changed\n\nThis would be: 0 created, 1 changed, 0 unchanged\.$/,
    )
    expect(await show('cleo')).toEqual(before)
    await easel.json(['user', 'import', file, '--reason', 'moved'])
    expect(await show('cleo')).toMatchObject({
      ...{ username: 'cleo', email: 'cleo@example.com' },
      subscription: { plan: 'Pro', endDate: '2099-06-30T23:59:59.999Z' },
    })
    const { rows } = await easel.db.pool.query(
      `SELECT action, reason FROM operator_actions WHERE action LIKE 'imported%' ORDER BY id DESC LIMIT 1`,
    )
    expect(rows).toEqual([{ action: 'imported users: 0 created, 1 changed, 0 unchanged', reason: 'moved' }])
  })

  it.each([
    [['name,email', 'x1,x1@example.com', 'x 2,'], /^Line 3: "x 2" can't be a username/],
    [['name,until', 'x1,2099-01-01'], /^Line 2: until is the end of a subscription: give a plan, too\.$/],
    [['name,plan,until', 'x1,Pro,2020-01-01'], /^Line 2: until 2020-01-01 is over: give a later date\.$/],
    [['name,credits', 'x1,-5'], /^Line 2: credits must be a whole number from 0 /],
    [['name,email', 'x1,nobody'], /^Line 2: "nobody" is not an email address/],
    [['name', 'x1', 'x2', 'X1'], /^Lines 2 and 4 have the same name, X1\.$/],
    [['name,email', 'x1,x@example.com', 'x2,X@example.com'], /^Lines 2 and 3 have the same email, X@example\.com\.$/],
    [['name,colour', 'x1,red'], /^The first line of .* must name the columns, .*, not "colour"\.$/],
    [['x1,x1@example.com'], /^The first line of .* must name the columns/],
    [['name,email', 'x1'], /is not valid CSV: .*\.$/],
    [
      ['name,email', 'x1,taken@example.com'],
      /^Another user than "x1" has the address taken@example\.com, so nothing was imported/,
    ],
    [[''], /is empty: its first line names the columns/],
  ])('refuses a file with a mistake, names the line, and imports nothing: %j', async (lines, sentence) => {
    if (lines.join().includes('taken')) await easel.json('user create taken --email taken@example.com')
    const before = await easel.json('user list')
    expect(await easel.error(['user', 'import', await fileOf(...lines)])).toMatch(sentence)
    expect(await easel.json('user list')).toEqual(before)
  })
})
