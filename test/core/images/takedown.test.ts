import { expect, it, onTestFinished } from 'vitest'
import { startTakedowns } from '../../../src/core/images/takedown.js'
import { laterPurges } from '../../../src/db/images/cdn-purges.js'
import { imageRemovals } from '../../../src/db/images/removals.js'
import { takedownStore } from '../../../src/db/images/takedowns.js'
import { imageStore } from '../../../src/images/open-image-store.js'
import { call } from '../../support/client.js'
import { useDatabase } from '../../support/database.js'
import { givenImages } from '../../support/given-images.js'
import { givenUser } from '../../support/givens.js'
import { type Service, startService } from '../../support/service.js'
import { until } from '../../support/until.js'
import { givenReceiver } from '../../support/webhook-receiver.js'

const own = useDatabase()

async function given(env: Record<string, string>) {
  const service = await startService({ worker: true, env: { INFERENCE_URL: 'preview:', ...env } })
  onTestFinished(() => service.close())
  const { key } = await givenUser(service.db)
  const body = { prompt: 'a lighthouse', width: 256, height: 256, steps: 20 }
  const slug: string = (await call(service.url, 'POST', '/v1/images/generate', { key, body })).body.data.image_id
  const store = imageStore(service.config)
  const isGone = async (extension: 'png' | 'webp') => (await store.sha256(slug, extension)) === undefined
  return { service, key, slug, isGone }
}

const isFinished = async ({ db }: Service) => (await db.pool.query('SELECT FROM takedowns')).rowCount === 0

it('removes the file of an image whose removal was cut short', async () => {
  const { service, slug, isGone } = await given({})
  expect(await isGone('webp')).toBe(false)
  await imageRemovals(service.db).remove(slug, undefined)
  await until(() => isGone('png'), 'the end of the file')
  await until(() => isGone('webp'), 'the end of its thumbnail')
  await until(() => isFinished(service), 'the end of the removal')
})

it('tells the CDN of each removed image until it has taken it in, over a restart, too', async () => {
  const cdn = await givenReceiver(503)
  const env = { CDN_BASE_URL: 'https://cdn.example/images', CDN_PURGE_URL: cdn.url.replace('//', '//:t%2Fken@') }
  const { service, key, slug, isGone } = await given(env)
  expect(await call(service.url, 'DELETE', `/api/v1/images/${slug}`, { key })).toMatchObject({ status: 204 })
  expect(await cdn.nth(1)).toMatchObject({
    method: 'POST',
    headers: { authorization: 'Bearer t/ken', 'content-type': 'application/json' },
    body: { files: [`https://cdn.example/images/${slug}.png`] },
  })
  expect([await isGone('png'), await isGone('webp')]).toEqual([true, true])
  await service.stopServer()

  cdn.behaviour = 200
  await service.server()
  await service.db.pool.query('UPDATE takedowns SET due_at = now()')
  const urls = ['png', 'webp'].flatMap((end) => [
    ...[`https://cdn.example/images/${slug}.${end}`, `http://easel.test/cdn/${slug}.${end}`],
  ])
  for (const [n, url] of urls.entries()) expect((await cdn.nth(n + 2)).body).toEqual({ files: [url] })
  await until(() => isFinished(service), 'the end of the removal')
})

it('has the CDN purge once more a little later, over a restart, too, what it had begun to fetch before the file went', async () => {
  const cdn = await givenReceiver(200)
  const env = { CDN_BASE_URL: 'http://easel.test/cdn', CDN_PURGE_URL: cdn.url }
  const { service, key, slug } = await given(env)
  expect(await call(service.url, 'DELETE', `/api/v1/images/${slug}`, { key })).toMatchObject({ status: 204 })
  await until(() => isFinished(service), 'the end of the removal')
  await service.stopServer()
  const asked = cdn.received.map(({ body }) => body)
  expect(asked).toEqual(['png', 'webp'].map((end) => ({ files: [`http://easel.test/cdn/${slug}.${end}`] })))

  // It refuses the second one for a moment.
  cdn.behaviour = 503
  await service.server()
  await service.db.pool.query('UPDATE cdn_purges SET due_at = now()')
  await cdn.nth(3)
  cdn.behaviour = 200
  const isPurged = async () => {
    await service.db.pool.query('UPDATE cdn_purges SET due_at = now() WHERE attempts > 0')
    return (await service.db.pool.query('SELECT FROM cdn_purges')).rowCount === 0
  }
  await until(isPurged, 'the second purge')
  for (const request of asked) expect(cdn.received.slice(2).map(({ body }) => body)).toContainEqual(request)
})

it('keeps a later purge that was added while the one before was made', async () => {
  const later = laterPurges(own.db, 0)
  await later.add('http://easel.test/cdn/a.png')
  expect(await later.claimDue()).toEqual(['http://easel.test/cdn/a.png'])
  await later.add('http://easel.test/cdn/a.png')
  await later.finish('http://easel.test/cdn/a.png')
  expect(await later.claimDue()).toEqual(['http://easel.test/cdn/a.png'])
  await later.finish('http://easel.test/cdn/a.png')
  expect(await later.claimDue()).toEqual([])
})

it('ends what its owner deleted also while there is always more to take down', async () => {
  const { db } = own
  const user = await givenUser(db)
  const [deleted = '', ...crowd] = await givenImages(db, user, Array(201).fill({}))
  const removals = imageRemovals(db)
  const takeMoreDown = async () => {
    const slug = crowd.pop()
    if (slug) await removals.remove(slug, 'By somebody else.')
  }
  for (let n = 0; n < 20; n++) await takeMoreDown()
  await db.pool.query(`UPDATE images SET delete_at = now() + interval '1 hour' WHERE slug = $1`, [deleted])
  let stillWaiting: number | undefined
  let isDue = false
  const url = (slug: string) => slug
  const remove = async (slug: string) => {
    // It becomes due once the work has begun, and each image that goes lets another one come.
    if (!isDue) await db.pool.query(`UPDATE images SET delete_at = now() WHERE slug = $1`, [deleted])
    isDue = true
    if (slug === deleted) stillWaiting = crowd.length
    else await takeMoreDown()
  }
  const faults: unknown[] = []
  const takedowns = startTakedowns({
    ...{ takedowns: takedownStore(db), images: { remove, url, thumbnailUrl: url }, purge: undefined },
    ...{ onRemoved: () => undefined, onFault: (error) => faults.push(error) },
  })
  onTestFinished(() => takedowns.stop())
  await until(() => stillWaiting !== undefined, 'the end of the deletion')
  expect(stillWaiting).toBeGreaterThan(0)
  expect(faults).toEqual([])
})
