import { expect, it } from 'vitest'
import { cancelGeneration } from '../../src/core/generations/cancel.js'
import { cancelStore } from '../../src/db/generations/end.js'
import { noActiveGenerationLock } from '../../src/redis/active-generation-lock.js'
import { startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import { endOf } from '../support/client.js'
import { noImages, noQueue } from '../support/fake-ports.js'
import { chargesOf, givenGeneration, givenUser, MODEL } from '../support/givens.js'
import { startService } from '../support/service.js'
import { QUICK } from '../support/worker-times.js'

it('a canceled generation is interrupted on its GPU and given back, and the GPU draws the next one', async () => {
  const gpu = await startA1111StandIn({ models: [MODEL.filename] })
  gpu.set({ held: true })
  // No heartbeat: only the notice of its end can tell the worker.
  const worker = { times: { ...QUICK, heartbeatMs: 3_600_000 } }
  const service = await startService({ worker, env: { INFERENCE_URL: gpu.inferenceUrl, RATE_LIMIT_MAX: '1000' } })
  try {
    const { db } = service
    const user = await givenUser(db)
    const { id } = await givenGeneration(db, user, { width: 64, height: 64 })
    await gpu.seen(({ path }) => path === '/sdapi/v1/txt2img')
    await db.pool.query(`UPDATE generations SET lease_until = now() + interval '1 hour' WHERE id = $1`, [id])
    const ports = { cancels: cancelStore(db), lock: noActiveGenerationLock, queue: noQueue, images: noImages }
    expect(await cancelGeneration(ports, id, 'Canceled.', { onlyQueued: false })).toBe(true)
    await gpu.seen(({ path }) => path === '/sdapi/v1/interrupt')
    expect(await endOf(service, user, id)).toEqual({ id, status: 'failed', error: 'Canceled.' })
    expect(await chargesOf(db, user)).toEqual([
      ['charge', -1],
      ['refund', 1],
    ])

    gpu.set({ held: false })
    const another = await givenUser(db)
    const next = await givenGeneration(db, another, { width: 64, height: 64 })
    expect(await endOf(service, another, next.id)).toMatchObject({ status: 'succeeded' })
  } finally {
    await service.close()
    await gpu.close()
  }
})
