import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { grantApplicationRole } from '../../../src/db/migrations/application-role.js'
import { useEasel } from '../../cli/easel.js'
import { givenSucceeded } from '../../cli/given-images.js'
import { givenUser } from '../../support/givens.js'
import { age } from '../../support/moved-to-months.js'

const easel = useEasel({ each: true })

it('the user of APP_DATABASE_URL archives, brings back and removes, also where the tables of a month are gone', async () => {
  const application = new URL(easel.databaseUrl)
  application.username = `app ${randomBytes(4).toString('hex')}`
  application.password = 'secret'
  await grantApplicationRole(easel.databaseUrl, application.href)
  const env = { DATABASE_URL: application.href }
  const user = await givenUser(easel.db)
  const { slugs } = await givenSucceeded(easel, user, { width: 8, height: 8 })
  const [slug] = slugs as [string]
  await age(easel.db, 500)
  const archive = async () =>
    expect(await easel.text('maintenance --live-months 2 --archive-months 13', env)).toContain(
      'Archived: 1 generation. Months that have no generations in Postgres any more:',
    )
  const forgetUses = () => easel.db.pool.query('DELETE FROM archive_uses')
  await archive()
  expect(await easel.text(`archive bring-back ${slug}`, env)).toBe('Brought back: 1 generation.')
  await forgetUses()
  await archive()
  // Within a transaction that records it.
  expect((await easel.run(`images remove ${slug} --reason test`, env)).stderr).toBe('')
  expect((await easel.db.pool.query('SELECT removed_reason FROM all_images')).rows).toEqual([
    { removed_reason: 'test' },
  ])
  await easel.db.pool.query('DELETE FROM takedowns')
  await forgetUses()
  await archive()
  await easel.text(`user delete ${user.username} --purge`, env)
  expect((await easel.db.pool.query('SELECT prompt FROM all_generations')).rows).toEqual([{ prompt: '' }])
  expect(await readdir(join(easel.storage, 'archive'))).toEqual([])
  const { checks } = await easel.json('audit --full', env)
  expect(checks.filter((it: { violations: number }) => it.violations > 0)).toEqual([])
})
