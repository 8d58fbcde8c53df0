import { beforeEach, describe, expect, it } from 'vitest'
import { postgresProgressBoard } from '../../../src/db/generations/live-boards.js'
import { redisProgressBoard } from '../../../src/redis/live-boards.js'
import { call, expectPersonalError } from '../../support/client.js'
import { type GivenUser, givenGeneration, givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { standInWorker } from '../../support/stand-in-worker.js'
import { openRedisIfAny } from '../../support/test-redis.js'
import { until } from '../../support/until.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000', CDN_BASE_URL: 'https://cdn.test/images' } })
const poll = ({ key }: GivenUser, id: string) => call(context.service.url, 'GET', `/api/v1/generate/${id}`, { key })
const worker = () => standInWorker(context.service.db)

// Each test's generation is the only one that waits.
beforeEach(async () => {
  const { pool } = context.service.db
  await pool.query(
    `UPDATE generations SET status = 'failed', error = 'x', finished_at = now() WHERE status IN ('queued', 'processing')`,
  )
})

describe('GET /api/v1/generate/{id}', () => {
  it('shows a queued generation with its place in the queue', async () => {
    const owner = await givenUser(context.service.db)
    const { id } = await givenGeneration(context.service.db, owner)
    const answer = await until(async () => {
      const polled = await poll(owner, id)
      return polled.body.queue_position === 1 && polled
    }, 'the first place')
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ id, status: 'queued', queue_position: 1 })
    expect(answer.headers.get('x-progress')).toBeNull()
  })

  it('shows a processing generation, without a progress while nobody knows it', async () => {
    const owner = await givenUser(context.service.db)
    const { id } = await givenGeneration(context.service.db, owner)
    await worker().claim()
    const answer = await poll(owner, id)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ id, status: 'processing' })
    expect(answer.headers.get('x-progress')).toBeNull()
  })

  it('tells the progress of a processing generation, as its worker reports it', async () => {
    const { db, namespace } = context.service
    const owner = await givenUser(db)
    const { id } = await givenGeneration(db, owner)
    await worker().claim()
    const redis = await openRedisIfAny()
    const board = redis ? redisProgressBoard(redis, namespace) : postgresProgressBoard(db)
    for (const [progress, shown] of [
      [0.1234, '0.12'],
      [0.5, '0.50'],
      [1, '1.00'],
      [-1, null],
      [-3, null],
      [0, '0.00'],
    ] as const) {
      await board.set(id, 1, progress)
      expect((await poll(owner, id)).headers.get('x-progress')).toBe(shown)
    }
    redis?.disconnect()
  })

  it('shows a succeeded generation with its images in batch order and the seed used', async () => {
    const owner = await givenUser(context.service.db)
    const { id, slugs } = await givenGeneration(context.service.db, owner, { batchSize: 4, seed: 4294967295 })
    await worker().succeed(await worker().claim())
    const answer = await poll(owner, id)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      id,
      status: 'succeeded',
      output: {
        images: slugs.map((slug) => ({ url: `https://cdn.test/images/${slug}.png`, id: slug })),
        seed: 4294967295,
      },
    })
    expect(answer.headers.get('x-progress')).toBeNull()
  })

  it('leaves out an image that was removed since', async () => {
    const owner = await givenUser(context.service.db)
    const { id, slugs } = await givenGeneration(context.service.db, owner, { batchSize: 2 })
    await worker().succeed(await worker().claim())
    await context.service.db.pool.query('UPDATE images SET removed_at = now() WHERE slug = $1', [slugs[0]])
    const { body } = await poll(owner, id)
    expect(body.output.images.map((image: { id: string }) => image.id)).toEqual([slugs[1]])
  })

  it('shows a failed generation with its reason', async () => {
    const owner = await givenUser(context.service.db)
    const { id } = await givenGeneration(context.service.db, owner)
    await worker().fail(await worker().claim(), 'The image could not be drawn.')
    const answer = await poll(owner, id)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ id, status: 'failed', error: 'The image could not be drawn.' })
  })

  it('needs neither a subscription nor credits', async () => {
    const owner = await givenUser(context.service.db, { credits: 1 })
    const { id } = await givenGeneration(context.service.db, owner)
    await context.service.db.pool.query('DELETE FROM subscriptions WHERE user_id = $1', [owner.id])
    expect(await poll(owner, id)).toMatchObject({ status: 200, body: { status: 'queued' } })
  })

  it('is never kept by a cache', async () => {
    const owner = await givenUser(context.service.db)
    const { id } = await givenGeneration(context.service.db, owner)
    expect((await poll(owner, id)).headers.get('cache-control')).toBe('no-store')
  })

  it('writes nothing to Postgres, however often it is sent', async () => {
    const { db } = context.service
    const owner = await givenUser(db)
    const generation = await givenGeneration(db, owner)
    // Looked at by the reconciler before, which locks the account for it.
    const dueOf = `SELECT FROM subscriptions WHERE user_id = $1 AND check_at IS NOT NULL`
    await until(async () => (await db.pool.query(dueOf, [owner.id])).rowCount === 0, 'its subscription to be settled')
    // Marked as rung, so that the reconciler leaves it alone; waited for, so that no other test's leftovers are counted.
    await db.pool.query('DELETE FROM unenqueued WHERE generation_id = $1', [generation.id])
    await until(async () => (await poll(owner, generation.id)).body.queue_position === 1, 'the first place')
    // Every write to a row gives it another place.
    const places = () =>
      db.pool.query(
        `SELECT ctid, xmin, xmax FROM generations WHERE user_id = $1
         UNION ALL SELECT ctid, xmin, xmax FROM users WHERE id = $1
         UNION ALL SELECT ctid, xmin, xmax FROM credit_ledger WHERE user_id = $1`,
        [owner.id],
      )
    const before = (await places()).rows
    const answers = await Promise.all(Array.from({ length: 20 }, () => poll(owner, generation.id)))
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    expect((await places()).rows).toEqual(before)
  })
})

describe('a generation that cannot be polled', () => {
  it.each(['/api/v1/generate', '/api/v1/generate/', '/api/v1/generate?x=1', '/api/v1/generate/?x=1'])(
    'is a 400 without an id: %s',
    async (path) => {
      const { key } = await givenUser(context.service.db)
      expectPersonalError(await call(context.service.url, 'GET', path, { key }), 400, /^Generation ID is missing/)
    },
  )

  it('is the same 404, byte for byte, for another user’s, an unknown, a malformed and a very long id', async () => {
    const [owner, other] = [await givenUser(context.service.db), await givenUser(context.service.db)]
    const { id } = await givenGeneration(context.service.db, owner)
    const absent = [
      id,
      'gen_00000000000000000000000000',
      'gen_0000000000000000000000000!',
      id.toUpperCase(),
      `${id}%0A`,
      `${id}%00`,
      `${id}%20`,
      '%2e%2e%2faccount',
      '1',
      'null',
      `gen_${'0'.repeat(300)}`,
      'x'.repeat(12_000),
      '%F0%9F%98%80'.repeat(50),
    ]
    const answers = await Promise.all(
      absent.map((it) =>
        fetch(`${context.service.url}/api/v1/generate/${it}`, { headers: { authorization: `Bearer ${other.key}` } }),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(absent.map(() => 404))
    const bodies = await Promise.all(answers.map((answer) => answer.text()))
    expect(new Set(bodies)).toEqual(new Set(['{"error":"Generation not found: check the ID."}']))
    expect(await poll(owner, id)).toMatchObject({ status: 200 })
  })

  it('is a 401 without a key, whatever the id', async () => {
    for (const id of ['gen_00000000000000000000000000', 'x'.repeat(12_000)]) {
      expectPersonalError(
        await call(context.service.url, 'GET', `/api/v1/generate/${id}`),
        401,
        /^Missing or invalid API key/,
      )
    }
  })
})
