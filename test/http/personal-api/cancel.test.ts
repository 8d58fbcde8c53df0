import { describe, expect, it, onTestFinished } from 'vitest'
import { startOwnRedis } from '../../redis/own-redis.js'
import { startA1111StandIn } from '../../stand-ins/a1111/a1111-stand-in.js'
import { call, endOf, expectPersonalError, PROMPT } from '../../support/client.js'
import { chargesOf, creditsOf, type GivenUser, givenGeneration, givenUser, MODEL, rowOf } from '../../support/givens.js'
import { startService, useService } from '../../support/service.js'
import { redisAvailable } from '../../support/services.js'
import { standInWorker } from '../../support/stand-in-worker.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000', REFUND_FAILED: 'false' } })
const cancel = ({ key }: GivenUser, id: string, options: object = {}) =>
  call(context.service.url, 'POST', `/api/v1/generate/${id}/cancel`, { key, ...options })
const CHARGED_AND_BACK = [
  ['charge', -2],
  ['refund', 2],
]

describe('POST /api/v1/generate/{id}/cancel', () => {
  it('ends a queued generation, gives everything back and lets the next one in', async () => {
    const { db, url } = context.service
    const owner = await givenUser(db)
    const submitted = await call(url, 'POST', '/api/v1/generate', {
      key: owner.key,
      body: { ...PROMPT, batch_size: 2 },
    })
    const { id } = submitted.body
    const answer = await cancel(owner, id)
    expect(answer).toMatchObject({ status: 200, body: { id, status: 'failed', error: 'Canceled.' } })
    expect(Object.keys(answer.body)).toEqual(['id', 'status', 'error'])
    expect(await chargesOf(db, owner)).toEqual(CHARGED_AND_BACK)
    const next = await call(url, 'POST', '/api/v1/generate', { key: owner.key, body: PROMPT })
    expect(next.status).toBe(201)
    await cancel(owner, next.body.id)
  })

  it('ends a processing generation, and its worker can store nothing for it any more', async () => {
    const { db } = context.service
    const owner = await givenUser(db)
    const { id } = await givenGeneration(db, owner, { batchSize: 2 })
    const claimed = await standInWorker(db).claim()
    expect((await cancel(owner, id)).body).toEqual({ id, status: 'failed', error: 'Canceled.' })
    await expect(standInWorker(db).succeed(claimed)).rejects.toThrow('no longer')
    expect(await chargesOf(db, owner)).toEqual(CHARGED_AND_BACK)
  })

  it('gives the same answer to every repeat, also at once, and gives the credits back once', async () => {
    const { db } = context.service
    const owner = await givenUser(db)
    const { id } = await givenGeneration(db, owner, { batchSize: 2 })
    const answers = await Promise.all(Array.from({ length: 8 }, () => cancel(owner, id)))
    answers.push(await cancel(owner, id))
    for (const { status, body } of answers)
      expect([status, body]).toEqual([200, { id, status: 'failed', error: 'Canceled.' }])
    expect(await chargesOf(db, owner)).toEqual(CHARGED_AND_BACK)
    expect(await creditsOf(db, owner)).toBe(100)
  })

  it('leaves a generation that has ended as it is', async () => {
    const { db } = context.service
    const owner = await givenUser(db)
    const { id } = await givenGeneration(db, owner)
    await standInWorker(db).succeed(await standInWorker(db).claim())
    const before = await rowOf(db, { id })
    expect(await cancel(owner, id)).toMatchObject({ status: 200, body: { id, status: 'succeeded' } })
    expect(await rowOf(db, { id })).toEqual(before)
    expect(await chargesOf(db, owner)).toEqual([['charge', -1]])
  })

  it.each([
    ['no body and a JSON type', { headers: { 'content-type': 'application/json' } }],
    ['an empty object', { body: {} }],
    ['something else', { body: 'reason=none', headers: { 'content-type': 'application/x-www-form-urlencoded' } }],
  ])('may be sent with %s', async (_name, options) => {
    const { db } = context.service
    const owner = await givenUser(db)
    const { id } = await givenGeneration(db, owner)
    expect(await cancel(owner, id, options)).toMatchObject({ status: 200, body: { status: 'failed' } })
  })

  it('is a 404 for another user’s generation and for one that never was, and changes nothing', async () => {
    const { db } = context.service
    const [owner, other] = [await givenUser(db), await givenUser(db)]
    const { id } = await givenGeneration(db, owner)
    for (const absent of [id, 'gen_00000000000000000000000000', 'nonsense'])
      expectPersonalError(await cancel(other, absent), 404, /^Generation not found/)
    expect(await rowOf(db, { id })).toMatchObject({ status: 'queued' })
    await cancel(owner, id)
  })

  it('stops the GPU, which goes on with the next generation', async () => {
    const gpu = await startA1111StandIn({ models: [MODEL.filename], latencyMs: 60_000 })
    onTestFinished(() => gpu.close())
    const env = { INFERENCE_URL: gpu.inferenceUrl, RATE_LIMIT_MAX: '1000' }
    const service = await startService({ worker: true, env })
    onTestFinished(() => service.close())
    const { key } = await givenUser(service.db)
    const body = { ...PROMPT, model_version_id: MODEL.id, width: 256, height: 256 }
    const { id } = (await call(service.url, 'POST', '/api/v1/generate', { key, body })).body
    await gpu.seen(({ path }) => path === '/sdapi/v1/txt2img')
    const answer = await call(service.url, 'POST', `/api/v1/generate/${id}/cancel`, { key })
    expect(answer.body).toEqual({ id, status: 'failed', error: 'Canceled.' })
    await gpu.seen(({ path }) => path === '/sdapi/v1/interrupt')
    gpu.set({ latencyMs: 0 })
    const next = await call(service.url, 'POST', '/api/v1/generate', { key, body })
    expect(await endOf(service, { key }, next.body.id)).toMatchObject({ status: 'succeeded' })
  })

  it.skipIf(!redisAvailable)('works while Redis is away', async () => {
    const redis = await startOwnRedis()
    onTestFinished(() => redis.kill())
    const service = await startService({ redis: true, env: { REDIS_URL: redis.url } })
    onTestFinished(() => service.close())
    const owner = await givenUser(service.db)
    const { body } = await call(service.url, 'POST', '/api/v1/generate', { key: owner.key, body: PROMPT })
    await redis.kill()
    const answer = await call(service.url, 'POST', `/api/v1/generate/${body.id}/cancel`, { key: owner.key })
    expect(answer).toMatchObject({ status: 200, body: { id: body.id, status: 'failed', error: 'Canceled.' } })
    expect(await creditsOf(service.db, owner)).toBe(100)
    const next = await call(service.url, 'POST', '/api/v1/generate', { key: owner.key, body: PROMPT })
    expect(next.status).toBe(201)
  })
})
