import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { SAMPLERS } from '../../../src/core/generations/generation.js'
import { backendRegistry } from '../../../src/db/generations/backends.js'
import { generationWatch } from '../../../src/db/generations/poll.js'
import { call, expectPersonalError } from '../../support/client.js'
import { type GivenUser, givenGeneration, givenUser, givenWaiting, MODEL } from '../../support/givens.js'
import { startService, useService } from '../../support/service.js'
import { standInWorker } from '../../support/stand-in-worker.js'
import { unguarded } from '../../support/unguarded.js'
import { until } from '../../support/until.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000' } })
const poll = ({ key }: GivenUser, id: string, query = '', headers: Record<string, string> = {}) =>
  call(context.service.url, 'GET', `/api/v1/generate/${id}${query}`, { key, headers })
const worker = () => standInWorker(context.service.db)

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
  it('say when to poll next, and give no ETA that was not measured', async () => {
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

  it('give an ETA once the same model was drawn before', async () => {
    // A service of its own: what it has measured is known for a while.
    const service = await startService({ env: { RATE_LIMIT_MAX: '1000' } })
    onTestFinished(() => service.close())
    const { db, url } = service
    const worker = standInWorker(db)
    const owner = await givenUser(db)
    const serves = { models: null, samplers: SAMPLERS, maxSeed: 4294967295, sizeMultiple: 8 }
    await backendRegistry(db).announce('stand-in', 'stand-in:', true, serves)
    for (const steps of [10, 20]) {
      await givenGeneration(db, owner, { width: 512, height: 512, steps })
      await worker.succeed(await worker.claim())
    }
    // They took 4 s and 8 s, so thirty steps take 12 s.
    await unguarded(
      db,
      `UPDATE generations SET started_at = finished_at - interval '0.4 seconds' * steps WHERE status = 'succeeded'`,
    )
    const { id } = await givenGeneration(db, owner, { width: 512, height: 512, steps: 30 })
    const polled = (hasCome: (eta: string | null) => boolean, what: string) =>
      until(async () => {
        const answer = await call(url, 'GET', `/api/v1/generate/${id}`, { key: owner.key })
        return hasCome(answer.headers.get('x-eta-seconds')) && answer
      }, what)
    const queued = await polled((eta) => eta !== null, 'a measured ETA')
    expect([queued.headers.get('x-eta-seconds'), queued.headers.get('retry-after')]).toEqual(['12', '5'])
    // Whoever wants to submit the next one is told to come back then.
    const body = { prompt: 'a red fox', model_version_id: MODEL.id }
    const refused = await call(url, 'POST', '/api/v1/generate', { key: owner.key, body })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '12'])
    const create = { key: owner.key, body: { prompt: 'a red fox' } }
    const createRefused = await call(url, 'POST', '/v1/images/generate', create)
    expect([createRefused.status, createRefused.body.error.retry_after]).toEqual([429, 12])
    await worker.claim()
    const processing = await polled((eta) => eta !== null && Number(eta) < 12, 'an ETA that runs down')
    expect(processing.body).toEqual({ id, status: 'processing' })
  })

  it('come with a 304 instead of an unchanged body, for the tag of the last answer', async () => {
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
  it('answers when a claim or an end comes', async () => {
    const owner = await givenUser(context.service.db)
    const { id } = await givenGeneration(context.service.db, owner)
    const { headers } = await queuedFirst(owner, id)
    const first = poll(owner, id, '?wait=30', { 'if-none-match': headers.get('etag') as string })
    await poll(owner, id) // the first one has arrived by now, too
    const claimed = await worker().claim()
    const processing = await first
    expect(processing.body).toEqual({ id, status: 'processing' })
    expect(processing.headers.get('retry-after')).toBe('1')
    const second = poll(owner, id, '?wait=30')
    await poll(owner, id)
    await worker().succeed(claimed)
    expect((await second).body.status).toBe('succeeded')
  })

  it('learns of a claim and of an end from notices, without reading the rows again', async () => {
    const { db, config } = context.service
    const reReadMs = 3_600_000
    const [{ began }] = (await db.pool.query('SELECT clock_timestamp() AS began')).rows
    const watch = generationWatch(db, config.databaseListenUrl, () => undefined, reReadMs)
    onTestFinished(() => watch.close())
    // After its last LISTEN it gives signs of life only.
    const listening = `SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'easel listen' AND backend_start >= $1
        AND query IN ('LISTEN "generation_finished"', 'SELECT 1') AND state = 'idle'`
    await until(async () => (await db.pool.query(listening, [began])).rowCount === 1, 'the connection that listens')
    const { id } = await givenGeneration(db, await givenUser(db))
    const seen: string[] = []
    watch.watch(id, undefined, ({ status }) => seen.push(status))
    await until(() => seen.length === 1, 'its first look')
    const claimed = await worker().claim()
    await until(() => seen.length === 2, 'the claim')
    await worker().succeed(claimed)
    await until(() => seen.length === 3, 'the end')
    expect(seen).toEqual(['queued', 'processing', 'succeeded'])
  })

  it('answers when the place in the queue changes', async () => {
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

  it('tells at the time-out the state of the generation, or that nothing has changed', async () => {
    const owner = await givenUser(context.service.db)
    const { id } = await givenGeneration(context.service.db, owner)
    await worker().claim()
    const answer = await poll(owner, id, '?wait=1')
    expect(answer).toMatchObject({ status: 200, body: { id, status: 'processing' } })
    // That it has waited: else it would be 2.
    expect(answer.headers.get('retry-after')).toBe('1')
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

  it('holds no request slot and no database connection, however many wait', async () => {
    const service = await startService({
      env: { RATE_LIMIT_MAX: '1000' },
      server: { slots: { total: 2, perHolder: 2, patienceMs: 60_000 } },
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
      // The server has twenty connections; some may be at work in the background.
      expect(rows[0].busy).toBeLessThan(10)
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
