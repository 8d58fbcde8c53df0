import { expect, it } from 'vitest'
import { call } from '../../support/client.js'
import { givenImages } from '../../support/given-images.js'
import { givenUser } from '../../support/givens.js'
import { age } from '../../support/moved-to-months.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'

const context = useService({ env: { LIVE_MONTHS: '1' } })

it('a server with LIVE_MONTHS moves what has ended for months, and the image’s page and the history go on', async () => {
  const { db, url } = context.service
  const user = await givenUser(db)
  const [slug] = await givenImages(db, user, [{}])
  await age(db)
  const isOver = async () =>
    (await db.pool.query(`SELECT FROM leases WHERE name = 'months' AND until > now() + interval '30 minutes'`))
      .rowCount === 1
  await until(isOver, 'the end of a pass')
  await db.pool.query(`UPDATE leases SET until = '-infinity' WHERE name = 'months'`)
  const hasMoved = async () =>
    (await db.pool.query('SELECT FROM all_images WHERE slug = $1 AND month IS NOT NULL', [slug])).rowCount === 1
  await until(hasMoved, 'the move')
  expect((await fetch(`${url}/image/${slug}`)).status).toBe(200)
  const { body } = await call(url, 'GET', '/api/v1/generations', { key: user.key })
  expect(JSON.stringify(body)).toContain(slug)
})
