import sharp from 'sharp'
import { expect, it, onTestFinished } from 'vitest'
import { call, endOf, PROMPT } from '../../support/client.js'
import { startComfyuiStandIn } from '../../support/comfyui-stand-in.js'
import { givenUser } from '../../support/givens.js'
import { startService } from '../../support/service.js'
import { until } from '../../support/until.js'

it('a worker on a ComfyUI server has the asked pictures made and publishes them without the server’s metadata', async () => {
  const gpu = await startComfyuiStandIn({ models: ['pony/ponyDiffusionV6XL.safetensors'], latencyMs: 600 })
  onTestFinished(gpu.close)
  const service = await startService({ worker: true, env: { INFERENCE_URL: gpu.inferenceUrl, RATE_LIMIT_MAX: '1000' } })
  onTestFinished(service.close)
  const user = await givenUser(service.db)
  const { body } = await call(service.url, 'POST', '/api/v1/generate', {
    key: user.key,
    body: { ...PROMPT, width: 256, height: 320, seed: 4294967295, batch_size: 2 },
  })
  const poll = () => call(service.url, 'GET', `/api/v1/generate/${body.id}`, { key: user.key })
  await until(async () => Number((await poll()).headers.get('x-progress')) > 0, 'progress')
  const done = await endOf(service, user, body.id)
  expect(done).toMatchObject({ status: 'succeeded', output: { seed: 4294967295 } })
  expect(done.output.images).toHaveLength(2)
  for (const { id } of done.output.images) {
    const picture = Buffer.from(await (await fetch(`${service.url}/cdn/${id}.png`)).arrayBuffer())
    expect(await sharp(picture).metadata()).toMatchObject({ format: 'png', width: 256, height: 320 })
    expect(picture.includes('lighthouse')).toBe(false)
    expect(picture.includes('trainedAlgorithmicMedia')).toBe(true)
  }
})
