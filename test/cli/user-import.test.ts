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

  it.each([
    [
      'UTF-16 with tabs, as Excel writes its text',
      Buffer.from('\ufeffname\temail\tplan\r\nw1\tw1@example.com\tGrößer\r\n', 'utf16le'),
    ],
    ['UTF-8 with a mark and semicolons', Buffer.from('\ufeffname;email;plan\r\nw2;w2@example.com;Größer\r\n')],
    ['a named separator', Buffer.from('sep=;\r\nname;email;plan\r\nw3;w3@example.com;Größer\r\n')],
    [
      'mixed line ends, blanks, and lines of nothing',
      Buffer.from('Name , EMAIL,plan\r\n\xa0w4 ,w4@example.com\t, Größer\n\n,,\n  \n'),
    ],
    ['line ends of old Macs', Buffer.from('name,email,plan\rw5,"w5@example.com","Größer"\r')],
  ])('reads a file with %s', async (_, content) => {
    const path = await fileOf()
    await writeFile(path, content)
    const { users } = await easel.json(['user', 'import', path])
    expect(users).toHaveLength(1)
    const { username } = users[0]
    expect(await show(username)).toMatchObject({ email: `${username}@example.com`, subscription: { plan: 'Größer' } })
  })

  it('refuses a file in another encoding, whose letters it could only guess, and says which line is wrong', async () => {
    const path = await fileOf()
    await writeFile(path, Buffer.from('name,plan\r\nx1,Größer\r\n', 'latin1'))
    expect(await easel.error(['user', 'import', path])).toMatch(
      /\.csv is not text in UTF-8: save it in that encoding\.$/,
    )
    await writeFile(path, 'sep=;\r\n\r\nname;credits\r\nx1;5\r\n;;\r\nx2;five\r\n')
    expect(await easel.error(['user', 'import', path])).toMatch(/is not valid CSV/)
    await writeFile(path, 'sep=;\r\n\r\nname;credits\r\nx1;5\r\n;\r\nx2;five\r\n')
    expect(await easel.error(['user', 'import', path])).toMatch(/^Line 6: credits must be a whole number/)
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
