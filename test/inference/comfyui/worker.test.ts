import { pino } from 'pino'
import sharp from 'sharp'
import { expect, it, onTestFinished } from 'vitest'
import { startWorker } from '../../../src/process/start-worker.js'
import { startComfyuiStandIn } from '../../stand-ins/comfyui/comfyui-stand-in.js'
import { call, endOf, PROMPT } from '../../support/client.js'
import { givenUser } from '../../support/givens.js'
import { startService } from '../../support/service.js'
import { until } from '../../support/until.js'
import { givenPrompt } from './given.js'

it('a worker has ComfyUI draw what was asked for, and publishes it without the server’s metadata', async () => {
  const gpu = await startComfyuiStandIn({ models: ['pony/ponyDiffusionV6XL.safetensors'] })
  onTestFinished(gpu.close)
  const service = await startService({ worker: true, env: { INFERENCE_URL: gpu.inferenceUrl, RATE_LIMIT_MAX: '1000' } })
  onTestFinished(service.close)
  gpu.set({ held: true })
  const user = await givenUser(service.db)
  const { body } = await call(service.url, 'POST', '/api/v1/generate', {
    key: user.key,
    body: { ...PROMPT, width: 256, height: 320, seed: 4294967295, batch_size: 2 },
  })
  const poll = () => call(service.url, 'GET', `/api/v1/generate/${body.id}`, { key: user.key })
  await until(async () => Number((await poll()).headers.get('x-progress')) > 0, 'progress')
  gpu.set({ held: false })
  const done = await endOf(service, user, body.id)
  expect(done).toMatchObject({ status: 'succeeded', output: { seed: 4294967295 } })
  expect(done.output.images).toHaveLength(2)
  for (const { id } of done.output.images) {
    const image = Buffer.from(await (await fetch(`${service.url}/cdn/${id}.png`)).arrayBuffer())
    expect(await sharp(image).metadata()).toMatchObject({ format: 'png', width: 256, height: 320 })
    expect(image.includes('lighthouse')).toBe(false)
    expect(image.includes('trainedAlgorithmicMedia')).toBe(true)
  }
})

it('a prompt that waits behind another client’s has no progress until it is drawn, and the operator is told once', async () => {
  const gpu = await startComfyuiStandIn({ models: ['ponyDiffusionV6XL.safetensors'] })
  onTestFinished(gpu.close)
  const service = await startService({ env: { INFERENCE_URL: gpu.inferenceUrl, RATE_LIMIT_MAX: '1000' } })
  onTestFinished(service.close)
  const lines: string[] = []
  const told = () => lines.filter((line) => line.includes('draws for other clients'))
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const worker = await startWorker(service.config, log, { namespace: service.namespace, drainMs: 2000 })
  onTestFinished(() => worker.stop())
  for (const seed of [1, 2]) {
    gpu.set({ held: true })
    await givenPrompt(gpu.url, {}, { seeds: [1000 + seed] })
    const user = await givenUser(service.db)
    const body = { ...PROMPT, width: 256, height: 256, seed }
    const { id } = (await call(service.url, 'POST', '/api/v1/generate', { key: user.key, body })).body
    const poll = () => call(service.url, 'GET', `/api/v1/generate/${id}`, { key: user.key })
    await until(() => gpu.queue().length === 2, 'the prompt behind it')
    const waiting = await poll()
    expect(waiting.body).toEqual({ id, status: 'processing' })
    expect(waiting.headers.get('x-progress')).toBeNull()
    await until(() => told().length > 0, 'the operator being told')
    gpu.set({ held: seed })
    await until(async () => Number((await poll()).headers.get('x-progress')) > 0, 'progress')
    gpu.set({ held: false })
    await endOf(service, user, id)
  }
  expect(told()).toHaveLength(1)
})
