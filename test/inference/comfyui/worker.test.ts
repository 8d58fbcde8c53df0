import { pino } from 'pino'
import sharp from 'sharp'
import { expect, it, onTestFinished } from 'vitest'
import { startWorker } from '../../../src/start-worker.js'
import { startComfyuiStandIn } from '../../stand-ins/comfyui/comfyui-stand-in.js'
import { call, endOf, PROMPT } from '../../support/client.js'
import { givenUser, rowOf } from '../../support/givens.js'
import { startService } from '../../support/service.js'
import { until } from '../../support/until.js'
import { startWorkerProcess } from '../../support/worker-process.js'

it('a worker on a ComfyUI server has the asked images made and publishes them without the server’s metadata', async () => {
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
    const image = Buffer.from(await (await fetch(`${service.url}/cdn/${id}.png`)).arrayBuffer())
    expect(await sharp(image).metadata()).toMatchObject({ format: 'png', width: 256, height: 320 })
    expect(image.includes('lighthouse')).toBe(false)
    expect(image.includes('trainedAlgorithmicMedia')).toBe(true)
  }
})

it('a worker does not wait for what a dead one has left on the server', async () => {
  const gpu = await startComfyuiStandIn({ models: ['ponyDiffusionV6XL.safetensors'], latencyMs: 100_000 })
  onTestFinished(gpu.close)
  // Worker processes know no test namespace, so this service uses the default one.
  const service = await startService({ env: { RATE_LIMIT_MAX: '1000' }, server: { namespace: 'easel' } })
  onTestFinished(service.close)
  const worker = async () => {
    const started = await startWorkerProcess(service.config, { INFERENCE_URL: gpu.inferenceUrl })
    onTestFinished(async () => {
      started.kill('SIGKILL')
      await started.ended
    })
    return started
  }
  const queue = async () => JSON.stringify(await (await fetch(`${gpu.url}/queue`)).json())
  const dead = await worker()
  const user = await givenUser(service.db)
  const body = { ...PROMPT, width: 256, height: 256 }
  const { id } = (await call(service.url, 'POST', '/api/v1/generate', { key: user.key, body })).body
  await until(async () => (await queue()).includes(`"easel_attempt":"${id}-1"`), 'the first attempt')
  dead.kill('SIGKILL')
  await worker()
  await until(async () => (await queue()).includes(`"easel_attempt":"${id}-2"`), 'the second attempt', 25_000)
  await until(async () => !(await queue()).includes(`"easel_attempt":"${id}-1"`), 'the first one being off')
  gpu.set({ latencyMs: 0 })
  expect(await endOf(service, user, id)).toMatchObject({ status: 'succeeded' })
  expect(await rowOf(service.db, { id })).toMatchObject({ attempt: 2, tries: 0, deaths: 1 })
}, 45_000)

it('a prompt that waits behind somebody else’s has no progress until it is drawn, and the operator is told once', async () => {
  const gpu = await startComfyuiStandIn({ models: ['ponyDiffusionV6XL.safetensors'], latencyMs: 1500 })
  onTestFinished(gpu.close)
  const service = await startService({ env: { INFERENCE_URL: gpu.inferenceUrl, RATE_LIMIT_MAX: '1000' } })
  onTestFinished(service.close)
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const worker = await startWorker(service.config, log, { namespace: service.namespace, drainMs: 2000 })
  onTestFinished(() => worker.stop())
  const submit = async () => {
    const user = await givenUser(service.db)
    const body = { ...PROMPT, width: 256, height: 256 }
    return {
      user,
      id: (await call(service.url, 'POST', '/api/v1/generate', { key: user.key, body })).body.id as string,
    }
  }
  const first = await submit()
  await endOf(service, first.user, first.id)
  for (let n = 0; n < 2; n++) {
    const graph = gpu.asked().at(0)?.prompt as Record<string, { class_type: string; inputs: Record<string, unknown> }>
    for (const node of Object.values(graph)) if (node.class_type === 'KSampler') node.inputs.seed = 1000 + n
    await fetch(`${gpu.url}/prompt`, { method: 'POST', body: JSON.stringify({ prompt: graph }) })
    const asked = gpu.asked().length
    const { user, id } = await submit()
    await until(() => gpu.asked().length > asked, 'the prompt behind it')
    const poll = () => call(service.url, 'GET', `/api/v1/generate/${id}`, { key: user.key })
    const waiting = await poll()
    expect(waiting.body).toEqual({ id, status: 'processing' })
    expect(waiting.headers.get('x-progress')).toBeNull()
    await until(async () => Number((await poll()).headers.get('x-progress')) > 0, 'progress')
    await endOf(service, user, id)
  }
  expect(lines.filter((line) => line.includes('draws for other clients'))).toHaveLength(1)
})
