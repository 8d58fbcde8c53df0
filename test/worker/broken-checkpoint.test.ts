import { afterEach, beforeEach, expect, it } from 'vitest'
import { type ComfyuiStandIn, startComfyuiStandIn } from '../stand-ins/comfyui/comfyui-stand-in.js'
import { call, endOf, PROMPT } from '../support/client.js'
import { givenUser } from '../support/givens.js'
import { type Service, startService } from '../support/service.js'
import { until } from '../support/until.js'
import { QUICK } from '../support/worker-times.js'

let gpu: ComfyuiStandIn
let service: Service

beforeEach(async () => {
  gpu = await startComfyuiStandIn({ models: ['ponyDiffusionV6XL.safetensors'] })
  service = await startService({
    worker: { times: QUICK },
    env: { INFERENCE_URL: gpu.inferenceUrl, RATE_LIMIT_MAX: '100000' },
  })
})
afterEach(async () => {
  await service?.close()
  await gpu?.close()
})

it('a checkpoint that one user’s generation cannot load for want of memory stays there for everybody', async () => {
  const message = 'Could not allocate tensor with 8192 bytes. There is not enough GPU video memory available!'
  gpu.set({ run: { node: 'CheckpointLoaderSimple', type: 'RuntimeError', message } })
  const user = await givenUser(service.db)
  const body = { ...PROMPT, width: 256, height: 256 }
  const { body: greedy } = await call(service.url, 'POST', '/api/v1/generate', { key: user.key, body })
  expect(await endOf(service, user, greedy.id)).toMatchObject({
    ...{ status: 'failed', error: expect.stringContaining('ran out of memory') },
  })
  gpu.set({ run: 'none' })
  const other = await givenUser(service.db)
  const { body: next } = await call(service.url, 'POST', '/api/v1/generate', { key: other.key, body })
  expect(await endOf(service, other, next.id)).toMatchObject({ status: 'succeeded' })
})

it('a checkpoint that is broken is left out once two users have found it so', async () => {
  const models = async () => (await service.db.pool.query('SELECT models FROM backends')).rows[0]?.models
  gpu.set({ run: 'corrupt_checkpoint' })
  const body = { ...PROMPT, width: 256, height: 256 }
  const user = await givenUser(service.db)
  const { body: first } = await call(service.url, 'POST', '/api/v1/generate', { key: user.key, body })
  expect(await endOf(service, user, first.id)).toEqual({
    ...{ id: first.id, status: 'failed', error: 'The model is not available on the GPU servers.' },
  })
  expect(await models()).not.toEqual([])
  const other = await givenUser(service.db)
  await call(service.url, 'POST', '/api/v1/generate', { key: other.key, body })
  await until(async () => (await models())?.length === 0, 'the model being left out')
})
