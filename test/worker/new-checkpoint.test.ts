import { expect, it, onTestFinished } from 'vitest'
import { startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import { call, endOf, PROMPT } from '../support/client.js'
import { givenUser } from '../support/givens.js'
import { startService } from '../support/service.js'

it('draws with a model of the catalog whose file was added after the start of its GPU server', async () => {
  const gpu = await startA1111StandIn({ models: ['old.safetensors'], added: ['ponyDiffusionV6XL.safetensors'] })
  onTestFinished(() => gpu.close())
  const service = await startService({ worker: true, env: { INFERENCE_URL: gpu.inferenceUrl, RATE_LIMIT_MAX: '1000' } })
  onTestFinished(() => service.close())
  const user = await givenUser(service.db)
  const { body } = await call(service.url, 'POST', '/api/v1/generate', { key: user.key, body: PROMPT })
  expect(await endOf(service, user, body.id)).toMatchObject({ status: 'succeeded' })
})
