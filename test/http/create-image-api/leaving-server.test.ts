/** What becomes of clients who wait for an image while their server, the real one, is told to end. */
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { type A1111StandIn, startA1111StandIn } from '../../stand-ins/a1111/a1111-stand-in.js'
import { call, endOf, expectCreateError } from '../../support/client.js'
import { chargesOf, type GivenUser, givenUser, rowOf } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'

let gpu: A1111StandIn
const context = useService(async () => {
  gpu = await startA1111StandIn({ models: ['noobaiXL_v11.safetensors'] })
  return { worker: true, env: { INFERENCE_URL: gpu.inferenceUrl, RATE_LIMIT_MAX: '1000' } }
})
afterAll(() => gpu.close())
beforeEach(() => gpu.set({ held: true }))

const create = (url: string, { key }: GivenUser) =>
  call(url, 'POST', '/v1/images/generate', { key, body: { prompt: 'x', width: 256, height: 256 } })

/** Resolves when the GPU draws the generation. */
const drawn = (n: number) => until(() => gpu.asked().length === n, `inference ${n}`)

describe('a server that is told to end', () => {
  it('serves a client whose image comes before the time for waiting clients is over', async () => {
    const { db, server } = context.service
    const { url, stop } = await server({ waitersMs: 120_000 })
    const answer = create(url, await givenUser(db))
    await drawn(1)
    const stopped = stop()
    gpu.set({ held: false })
    expect(await answer).toMatchObject({ status: 200, body: { success: true } })
    await stopped
  })

  it('sends a client away whose image takes longer, and its generation goes on', async () => {
    const { service } = context
    const { db } = service
    const { url, stop } = await service.server({ waitersMs: 0 })
    const user = await givenUser(db)
    const answer = create(url, user)
    await drawn(2)
    await stop()
    expectCreateError(await answer, 503, 'unavailable', /^This server is restarting\. Generation gen_\w+ goes on/, {
      retry_after: 2,
    })
    expect((await answer).headers.get('retry-after')).toBe('2')

    gpu.set({ held: false })
    const { rows } = await db.pool.query('SELECT id FROM generations WHERE user_id = $1', [user.id])
    expect(await endOf(service, user, rows[0].id)).toMatchObject({ status: 'succeeded' })
    expect(await chargesOf(db, user)).toEqual([['charge', -1]])
    expect(await rowOf(db, rows[0])).toMatchObject({ attempt: 1, tries: 0 })
  })
})
