import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { postgresPreviewBoard, postgresProgressBoard } from '../../../src/db/generations/live-boards.js'
import { redisPreviewBoard, redisProgressBoard } from '../../../src/redis/live-boards.js'
import { startA1111StandIn } from '../../stand-ins/a1111/a1111-stand-in.js'
import { drawImage } from '../../stand-ins/a1111/images.js'
import { call, expectPersonalError } from '../../support/client.js'
import { openEvents } from '../../support/event-source.js'
import { type GivenUser, givenGeneration, givenUser, givenWaiting, MODEL } from '../../support/givens.js'
import { startService, useService } from '../../support/service.js'
import { redisAvailable } from '../../support/services.js'
import { standInWorker } from '../../support/stand-in-worker.js'
import { openRedis } from '../../support/test-redis.js'
import { until } from '../../support/until.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000' } })
const worker = () => standInWorker(context.service.db)

async function follow({ key }: GivenUser, id: string, url = context.service.url) {
  const source = await openEvents(url, key, id)
  onTestFinished(source.close)
  return source
}

/** Where a worker of this service shows progress and previews. */
async function boards() {
  const { db, namespace } = context.service
  if (!redisAvailable) return { progress: postgresProgressBoard(db), previews: postgresPreviewBoard(db) }
  const redis = await openRedis()
  onTestFinished(() => redis.disconnect())
  return { progress: redisProgressBoard(redis, namespace), previews: redisPreviewBoard(redis, namespace) }
}

beforeEach(async () => {
  const { pool } = context.service.db
  await pool.query(
    `UPDATE generations SET status = 'failed', error = 'x', finished_at = now() WHERE status IN ('queued', 'processing')`,
  )
})

describe('GET /api/v1/generate/{id}/events', () => {
  it('tells the state of the generation, then everything that happens, and the end', async () => {
    const { db } = context.service
    const others = await givenUser(db, { developer: { concurrency: 100 } })
    await givenWaiting(db, others, { personal: 1, create_image: 0 })
    const owner = await givenUser(db)
    const { id, slugs } = await givenGeneration(db, owner)
    const source = await follow(owner, id)
    expect(source.status).toBe(200)
    expect(source.headers.get('content-type')).toMatch(/^text\/event-stream/)
    // Proxies that compress would hold back what is too little for them.
    expect(source.headers.get('cache-control')).toBe('no-store, no-transform')
    expect(source.headers.get('x-accel-buffering')).toBe('no')
    expect((await source.seen('status')).data).toMatchObject({ id, status: 'queued' })
    expect(source.retryMs).toBe(2000)

    await worker().claim()
    await source.seen('queue_position', (data) => data.queue_position === 1)
    const claimed = await worker().claim()
    expect((await source.seen('status', ({ status }) => status === 'processing')).data).toEqual({
      id,
      status: 'processing',
    })

    const { progress, previews } = await boards()
    await progress.set(id, 1, 0.25)
    await source.seen('progress', (data) => data.progress === 0.25)
    await previews.set(id, 1, Buffer.from('first'))
    await source.seen('preview', ({ image }) => image === `data:image/webp;base64,${btoa('first')}`)
    await previews.set(id, 1, Buffer.from('second'))
    await source.seen('preview', ({ image }) => image === `data:image/webp;base64,${btoa('second')}`)

    await worker().succeed(claimed)
    const { data } = await source.seen('end')
    expect(data).toEqual((await call(context.service.url, 'GET', `/api/v1/generate/${id}`, { key: owner.key })).body)
    expect(data.output.images).toHaveLength(slugs.length)
    await until(() => source.ended, 'the end of the stream')
    expect(source.events.at(-1)?.event).toBe('end')
  })

  it('shows each follower the previews and the progress of its own generation alone', async () => {
    const { db } = context.service
    const given = []
    for (const name of ['one', 'other']) {
      const owner = await givenUser(db)
      const { id } = await givenGeneration(db, owner)
      await worker().claim()
      const source = await follow(owner, id)
      await source.seen('status', ({ status }) => status === 'processing')
      given.push({
        id,
        source,
        image: `data:image/webp;base64,${btoa(name)}`,
        name,
        progress: given.length ? 0.75 : 0.25,
      })
    }
    const { progress, previews } = await boards()
    for (const { id, name, progress: fraction } of given) {
      await progress.set(id, 1, fraction)
      await previews.set(id, 1, Buffer.from(name))
    }
    for (const { source } of given) {
      await source.seen('preview')
      await source.seen('progress')
    }
    for (const { source, image, progress: fraction } of given) {
      const told = (name: string) => source.events.filter(({ event }) => event === name).map(({ data }) => data)
      expect(new Set(told('preview').map((data) => data.image))).toEqual(new Set([image]))
      expect(new Set(told('progress').map((data) => data.progress))).toEqual(new Set([fraction]))
    }
  })

  it('tells when a generation is queued anew, because its worker is gone', async () => {
    const { db } = context.service
    const owner = await givenUser(db)
    const { id } = await givenGeneration(db, owner)
    await worker().claim()
    const source = await follow(owner, id)
    await source.seen('status', ({ status }) => status === 'processing')
    await db.pool.query(`UPDATE generations SET lease_until = now() - interval '1 second' WHERE id = $1`, [id])
    expect((await source.seen('status', ({ status }) => status === 'queued')).data.queue_position).toBeGreaterThan(0)
  })

  it('tells the end of a generation that has ended, and is over', async () => {
    const owner = await givenUser(context.service.db)
    const { id } = await givenGeneration(context.service.db, owner)
    await worker().fail(await worker().claim(), 'It failed.')
    const source = await follow(owner, id)
    await until(() => source.ended, 'the end of the stream')
    expect(source.events).toEqual([{ event: 'end', data: { id, status: 'failed', error: 'It failed.' } }])
  })

  it('is the same 404 for another user’s generation and for one that never was', async () => {
    const [owner, other] = [await givenUser(context.service.db), await givenUser(context.service.db)]
    const { id } = await givenGeneration(context.service.db, owner)
    for (const absent of [id, 'gen_00000000000000000000000000', 'x']) {
      const { key } = other
      expectPersonalError(
        await call(context.service.url, 'GET', `/api/v1/generate/${absent}/events`, { key }),
        404,
        /^Generation not found/,
      )
    }
  })

  it('may be open eight times per account; the ninth is a 429 until one closes', async () => {
    const { url, db } = context.service
    const owner = await givenUser(db)
    const { id } = await givenGeneration(db, owner)
    await worker().claim()
    const open = await Promise.all(Array.from({ length: 8 }, () => follow(owner, id)))
    expect(open.map(({ status }) => status)).toEqual(open.map(() => 200))
    const ninth = await call(url, 'GET', `/api/v1/generate/${id}/events`, { key: owner.key })
    expectPersonalError(ninth, 429, /^You already have 8 event streams open/)
    expect(ninth.headers.get('x-error-code')).toBe('too_many_streams')
    expect(Number(ninth.headers.get('retry-after'))).toBeGreaterThan(0)
    const other = await givenUser(db)
    const { id: others } = await givenGeneration(db, other)
    expect((await follow(other, others)).status).toBe(200)
    open[0]?.close()
    await until(async () => (await follow(owner, id)).status === 200, 'a free stream')
  })

  it('counts once into the rate limit, however long it is open', async () => {
    const { url } = await context.service.server({}, { RATE_LIMIT_MAX: '2', RATE_LIMIT_WINDOW_SECONDS: '600' })
    const owner = await givenUser(context.service.db)
    const { id } = await givenGeneration(context.service.db, owner)
    const source = await follow(owner, id, url)
    await source.seen('status')
    const poll = () => call(url, 'GET', `/api/v1/generate/${id}`, { key: owner.key })
    expect((await poll()).status).toBe(200)
    expect((await poll()).status).toBe(429)
  })

  it('has something to read while nothing happens', async () => {
    const { url } = await context.service.server({ streamTimes: { heartbeatMs: 20, longestMs: 3_600_000 } })
    const owner = await givenUser(context.service.db)
    const { id } = await givenGeneration(context.service.db, owner)
    await worker().claim()
    const source = await follow(owner, id, url)
    await until(() => source.comments.filter((comment) => comment === 'still here').length > 2, 'heartbeats')
    expect(source.ended).toBe(false)
  })

  it('ends after a while without an `end`', async () => {
    const { url } = await context.service.server({ streamTimes: { heartbeatMs: 3_600_000, longestMs: 100 } })
    const owner = await givenUser(context.service.db)
    const { id } = await givenGeneration(context.service.db, owner)
    await worker().claim()
    const source = await follow(owner, id, url)
    await until(() => source.ended, 'the end of the stream')
    expect(source.comments.at(-1)).toBe('reconnect')
    expect(source.events.map(({ event }) => event)).not.toContain('end')
  })

  it('ends with a comment when the server restarts, so that the client connects elsewhere', async () => {
    const { url, stop } = await context.service.server()
    const owner = await givenUser(context.service.db)
    const { id } = await givenGeneration(context.service.db, owner)
    const source = await follow(owner, id, url)
    await source.seen('status')
    await stop()
    await until(() => source.ended, 'the end of the stream')
    expect(source.comments.at(-1)).toMatch(/restarting/)
    expect(source.events.map(({ event }) => event)).not.toContain('end')
    const elsewhere = await follow(owner, id)
    await elsewhere.seen('status')
  })
})

it.each([true, false])('a stream shows what the GPU server draws at the moment (Redis: %s)', async (redis) => {
  if (redis && !redisAvailable) return
  const gpu = await startA1111StandIn({ models: [MODEL.filename] })
  onTestFinished(() => gpu.close())
  const shown = await drawImage({ width: 256, height: 256, key: 'preview', parameters: '', look: 'unfinished' })
  gpu.set({ held: true, currentImage: shown.toString('base64') })
  const service = await startService({ redis, worker: true, env: { INFERENCE_URL: gpu.inferenceUrl } })
  onTestFinished(() => service.close())
  const owner = await givenUser(service.db)
  const { id } = await givenGeneration(service.db, owner, { width: 256, height: 256 })
  const source = await follow(owner, id, service.url)
  const { data } = await source.seen('preview')
  expect(data.image).toMatch(/^data:image\/webp;base64,/)
  expect(data.image.length).toBeLessThanOrEqual(24 * 1024)
  gpu.set({ held: false })
  expect((await source.seen('end')).data.status).toBe('succeeded')
})
