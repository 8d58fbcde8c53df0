import { expect, it } from 'vitest'
import { call } from '../../support/client.js'
import { givenImages } from '../../support/given-images.js'
import { givenUser } from '../../support/givens.js'
import { age } from '../../support/moved-to-months.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'

const context = useService({ env: { LIVE_MONTHS: '1', ARCHIVE_MONTHS: '13' } })

it('a server with ARCHIVE_MONTHS archives what ended long ago, and the image’s page, polls and the history go on', async () => {
  const { db, url } = context.service
  const user = await givenUser(db)
  const [slug] = await givenImages(db, user, [{}])
  await age(db, 500)
  const isThere = async (table: string) =>
    (await db.pool.query(`SELECT FROM ${table} WHERE ${table === 'archived' ? 'name' : 'slug'} = $1`, [slug]))
      .rowCount === 1
  const passesOf = (lease: string) =>
    db.pool.query(`UPDATE leases SET until = '-infinity' WHERE name = $1 AND until > now() + interval '30 minutes'`, [
      lease,
    ])
  // Each pass may have ended before there was anything to do.
  const isArchived = async () => {
    await passesOf('months')
    await passesOf('archive')
    return (await isThere('archived')) && !(await isThere('all_images'))
  }
  await until(isArchived, 'the archive')
  expect((await fetch(`${url}/image/${slug}`)).status).toBe(200)
  expect(await isThere('archived')).toBe(true)
  const { body } = await call(url, 'GET', '/api/v1/generations', { key: user.key })
  expect(JSON.stringify(body)).toContain(slug)
  expect(await isThere('all_images')).toBe(true)
})
