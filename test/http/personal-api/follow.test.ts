import { beforeEach, describe, expect, it } from 'vitest'
import { backendRegistry } from '../../../src/db/backend-store.js'
import { SAMPLERS } from '../../../src/generation/sampler.js'
import { call, expectPersonalError } from '../../support/client.js'
import { type GivenUser, givenGeneration, givenUser, givenWaiting } from '../../support/givens.js'
import { startService, useService } from '../../support/service.js'
import { standInWorker } from '../../support/stand-in-worker.js'
import { unguarded } from '../../support/unguarded.js'
import { until } from '../../support/until.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000' } })
const poll = ({ key }: GivenUser, id: string, query = '', headers: Record<string, string> = {}) =>
  call(context.service.url, 'GET', `/api/v1/generate/${id}${query}`, { key, headers })
const worker = () => standInWorker(context.service.db)

/** When an answer came, in milliseconds from now on. */
async function timed<T>(work: Promise<T>): Promise<{ readonly answer: T; readonly ms: number }> {
  const from = performance.now()
  const answer = await work
  return { answer, ms: performance.now() - from }
}

beforeEach(async () => {
  const { pool } = context.service.db
  await pool.query(
    `UPDATE generations SET status = 'failed', error = 'x', finished_at = now() WHERE status IN ('queued', 'processing')`,
  )
})

const queuedFirst = (owner: GivenUser, id: string) =>
  until(async () => {
    const answer = await poll(owner, id)
    return answer.body.queue_position === 1 && answer
  }, 'the first place')

describe('a poll’s headers', () => {
  it('pace the client: when to poll next, and nothing that was not measured', async () => {
    const owner = await givenUser(context.service.db)
    const { id } = await givenGeneration(context.service.db, owner)
    const queued = await poll(owner, id)
    expect(queued.headers.get('retry-after')).toBe('2')
    expect(queued.headers.get('x-eta-seconds')).toBeNull()
    await worker().succeed(await worker().claim())
    const ended = await poll(owner, id)
    for (const name of ['retry-after', 'x-eta-seconds', 'x-progress']) expect(ended.headers.get(name)).toBeNull()
    expect(ended.headers.get('etag')).toMatch(/^"[\w-]{16}"$/)
  })

  it('tell when the end is to be expected, once the same model was drawn before', async () => {
    const { db } = context.service
    const owner = await givenUser(db)
    const serves = { models: null, samplers: SAMPLERS, maxSeed: 4294967295, sizeMultiple: 8 }
    await backendRegistry(db).announce('stand-in', 'stand-in:', true, serves)
    const before = await givenGeneration(db, owner, { width: 512, height: 512, steps: 10 })
    await worker().succeed(await worker().claim())
    // The only one measured: 4 s. Three times the work is 12 s.
    await unguarded(db, `UPDATE generations SET started_at = finished_at - interval '4 seconds' WHERE id = $1`, [
      before.id,
    ])
    await unguarded(
      db,
      `UPDATE generations SET started_at = finished_at - interval '4 seconds' * (width * height * steps * batch_size)
         / (512 * 512 * 10) WHERE status = 'succeeded' AND filename = $1`,
      [before.filename],
    )
    const { id } = await givenGeneration(db, owner, { width: 512, height: 512, steps: 30 })
    const eta = (value: string) =>
      until(async () => {
        const answer = await poll(owner, id)
        return answer.headers.get('x-eta-seconds') === value && answer
      }, `an ETA of ${value} s`)
    expect((await eta('12')).headers.get('retry-after')).toBe('5')
    // Whoever wants to submit the next one is told to come back then.
    const body = { prompt: 'a red fox', model_version_id: before.modelVersionId }
    const refused = await call(context.service.url, 'POST', '/api/v1/generate', { key: owner.key, body })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '12'])
    const create = { key: owner.key, body: { prompt: 'a red fox' } }
    const createRefused = await call(context.service.url, 'POST', '/v1/images/generate', create)
    expect([createRefused.status, createRefused.body.error.retry_after]).toEqual([429, 12])
    await worker().claim()
    expect((await eta('11')).body).toEqual({ id, status: 'processing' })
    await db.pool.query('DELETE FROM backends')
  })

  it('spare an unchanged body: 304 for the tag of the last answer, with the same headers', async () => {
    const owner = await givenUser(context.service.db)
    const { id } = await givenGeneration(context.service.db, owner)
    const { headers } = await queuedFirst(owner, id)
    const etag = headers.get('etag') as string
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const same = await poll(owner, id, '', { 'if-none-match': known })
      expect([same.status, same.body]).toEqual([304, ''])
      for (const name of ['etag', 'retry-after', 'cache-control'])
        expect(same.headers.get(name)).toBe(headers.get(name))
    }
    await worker().claim()
    const changed = await poll(owner, id, '', { 'if-none-match': etag })
    expect(changed).toMatchObject({ status: 200, body: { id, status: 'processing' } })
    expect(changed.headers.get('etag')).not.toBe(etag)
  })
})

describe('a long poll', () => {
  it('answers at once when a claim or an end comes, long before the rows are read again', async () => {
    const { db } = context.service
    const owner = await givenUser(db)
    const delays: number[] = []
    for (let round = 0; round < 5; round++) {
      const { id } = await givenGeneration(db, owner)
      const { headers } = await queuedFirst(owner, id)
      const first = poll(owner, id, '?wait=30', { 'if-none-match': headers.get('etag') as string })
      await poll(owner, id) // the first one has arrived by now, too
      const claimed = await worker().claim()
      const processing = await timed(first)
      expect(processing.answer.body).toEqual({ id, status: 'processing' })
      expect(processing.answer.headers.get('retry-after')).toBe('1')
      const second = poll(owner, id, '?wait=30')
      await poll(owner, id)
      await worker().succeed(claimed)
      const ended = await timed(second)
      expect(ended.answer.body.status).toBe('succeeded')
      delays.push(processing.ms, ended.ms)
    }
    expect(delays.sort((a, b) => a - b)[delays.length >> 1]).toBeLessThan(200)
  })

  it('answers when the place changes', async () => {
    const { db } = context.service
    const others = await givenWaiting(db, await givenUser(db, { developer: { concurrency: 100 } }), {
      personal: 2,
      create_image: 0,
    })
    const owner = await givenUser(db)
    const { id } = await givenGeneration(db, owner)
    const third = await until(async () => {
      const answer = await poll(owner, id)
      return answer.body.queue_position === 3 && answer
    }, 'the third place')
    const waiting = poll(owner, id, '?wait=30', { 'if-none-match': third.headers.get('etag') as string })
    await poll(owner, id)
    expect((await worker().claim()).id).toBe(others.personal[0])
    expect((await waiting).body).toEqual({ id, status: 'queued', queue_position: 2 })
  })

  it('answers at once what the client has not seen, and what has ended', async () => {
    const owner = await givenUser(context.service.db)
    const { id } = await givenGeneration(context.service.db, owner)
    const unseen = await poll(owner, id, '?wait=30', { 'if-none-match': '"of-something-else"' })
    expect(unseen).toMatchObject({ status: 200, body: { status: 'queued' } })
    await worker().succeed(await worker().claim())
    const ended = await poll(owner, id, '?wait=30')
    const again = await poll(owner, id, '?wait=30', { 'if-none-match': ended.headers.get('etag') as string })
    expect([ended.status, ended.body.status, again.status]).toEqual([200, 'succeeded', 304])
  })

  it('tells at the time-out how it stands, or that nothing has changed', async () => {
    const owner = await givenUser(context.service.db)
    const { id } = await givenGeneration(context.service.db, owner)
    await worker().claim()
    const { answer, ms } = await timed(poll(owner, id, '?wait=1'))
    expect(answer).toMatchObject({ status: 200, body: { id, status: 'processing' } })
    expect(ms).toBeGreaterThan(950)
    const tag = { 'if-none-match': answer.headers.get('etag') as string }
    expect((await poll(owner, id, '?wait=1', tag)).status).toBe(304)
  })

  it('ends with the state when the server leaves', async () => {
    const { url, stop } = await context.service.server({ waitersMs: 100 })
    const owner = await givenUser(context.service.db)
    const { id } = await givenGeneration(context.service.db, owner)
    await worker().claim()
    const waiting = call(url, 'GET', `/api/v1/generate/${id}?wait=30`, { key: owner.key })
    await call(url, 'GET', `/api/v1/generate/${id}`, { key: owner.key }) // the first one has arrived by now, too
    await stop()
    expect(await waiting).toMatchObject({ status: 200, body: { id, status: 'processing' } })
  })

  it('holds neither a place nor a database connection, however many wait', async () => {
    const service = await startService({
      env: { RATE_LIMIT_MAX: '1000' },
      server: { slots: { total: 2, perHolder: 2, patienceMs: 1500 } },
    })
    try {
      const owner = await givenUser(service.db)
      const { id } = await givenGeneration(service.db, owner)
      await standInWorker(service.db).claim()
      const gone = new AbortController()
      const ask = { key: owner.key, signal: gone.signal }
      const waiting = Array.from({ length: 40 }, () => call(service.url, 'GET', `/api/v1/generate/${id}?wait=30`, ask))
      const ended = Promise.allSettled(waiting)
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => call(service.url, 'GET', `/api/v1/generate/${id}`, ask)),
      )
      expect(answers.every(({ status }) => status === 200)).toBe(true)
      const { rows } = await service.db.pool.query(
        `SELECT count(*)::integer AS busy FROM pg_stat_activity WHERE datname = current_database()
          AND application_name = 'easel' AND pid <> pg_backend_pid() AND state <> 'idle'`,
      )
      expect(rows[0].busy).toBeLessThanOrEqual(2)
      gone.abort()
      await ended
    } finally {
      await service.close()
    }
  })

  it.each(['0', '31', '1.5', '-1', 'x', ''])('takes 1 to 30 seconds, not "%s"', async (wait) => {
    const owner = await givenUser(context.service.db)
    const { id } = await givenGeneration(context.service.db, owner)
    expectPersonalError(await poll(owner, id, `?wait=${wait}`), 400, /^wait must be an integer from 1 to 30\.$/)
  })
})
