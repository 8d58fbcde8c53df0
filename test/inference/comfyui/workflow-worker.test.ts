import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { expect, it, onTestFinished } from 'vitest'
import { readModelFile } from '../../../src/cli/model-file.js'
import { runCli } from '../../../src/cli/run-cli.js'
import { operatorModelStore } from '../../../src/db/operator/catalog.js'
import { startComfyuiStandIn } from '../../stand-ins/comfyui/comfyui-stand-in.js'
import { call, endOf } from '../../support/client.js'
import { givenUser } from '../../support/givens.js'
import { startService } from '../../support/service.js'
import { until } from '../../support/until.js'
import { QUICK } from '../../support/worker-times.js'
import { type GivenGraph, withLora } from './workflow/given-graphs.js'

const FLUX = { id: 301, name: 'dev', model_name: 'FLUX.1', base_model: 'Flux', type: 'Workflow', credits_per_image: 2 }
const BODY = { model_version_id: 301, prompt: 'a fox', width: 256, height: 264, seed: 5 }

async function given(loras: readonly string[][]) {
  const gpus = await Promise.all(
    loras.map((lora) => startComfyuiStandIn({ models: ['noise.safetensors'], loads: { lora } })),
  )
  for (const gpu of gpus) onTestFinished(gpu.close)
  const env = { INFERENCE_URL: gpus.map(({ inferenceUrl }) => inferenceUrl).join(','), RATE_LIMIT_MAX: '1000' }
  const service = await startService({ worker: { times: QUICK }, env })
  onTestFinished(service.close)
  const importing = async (lora: string, more: object = {}) => {
    const path = join(await mkdtemp(join(tmpdir(), 'easel-')), 'models.json')
    await writeFile(path, JSON.stringify([{ ...FLUX, ...more, workflow: withLora(lora, 'noise.safetensors') }]))
    return operatorModelStore(service.db).import(await readModelFile(path))
  }
  const served = async (filename: string) => {
    const { rows } = await service.db.pool.query('SELECT FROM backends WHERE $1 = ANY (models)', [filename])
    return rows.length
  }
  const submit = async (more: object = {}) => {
    const user = await givenUser(service.db)
    const answer = await call(service.url, 'POST', '/api/v1/generate', { key: user.key, body: { ...BODY, ...more } })
    return { user, ...answer }
  }
  return { gpus, service, importing, served, submit }
}

it('a workflow that an operator imports is sold, drawn and shown at its real size, and its revision is remembered', async () => {
  const { gpus, service, importing, served, submit } = await given([['ink.safetensors']])
  expect(await importing('ink.safetensors')).toEqual({ outcome: 'imported', filenames: ['flux.1-dev@1'] })
  await until(async () => (await served('flux.1-dev@1')) === 1, 'the workflow being served')
  const { user, status, headers, body } = await submit({ cfg_scale: 7, negative_prompt: 'fog' })
  expect([status, headers.get('x-ignored-fields')]).toEqual([201, 'negative_prompt, cfg_scale'])
  const done = await endOf(service, user, body.id)
  expect(done).toMatchObject({ status: 'succeeded' })
  const { id } = done.output.images[0]
  const image = Buffer.from(await (await fetch(`${service.url}/cdn/${id}.png`)).arrayBuffer())
  expect(await sharp(image).metadata()).toMatchObject({ width: 512, height: 528 })
  const shown = await call(service.url, 'GET', `/api/v1/images/${id}`, { key: user.key })
  expect(shown.body).toMatchObject({
    ...{ width: 512, height: 528, filename: 'flux.1-dev@1', steps: 8, cfg_scale: 1 },
    made_with: {
      backend: 'comfyui',
      definition: { name: 'flux.1-dev@1', hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
    },
  })
  const told = { stdout: '', write: (text: string) => (told.stdout += text) }
  await runCli(['jobs', 'show', body.id], { DATABASE_URL: service.config.databaseUrl }, { stdout: told, stderr: told })
  expect(told.stdout).toMatch(/made with +comfyui \S+, euler with normal, flux\.1-dev@1 \(SHA-256 [0-9a-f]{64}\)/)
  expect(told.stdout).toContain('512 × 528')
  const [asked] = gpus[0]?.asked() ?? []
  expect(JSON.stringify(asked)).toContain('"text":"a fox"')
})

it('what runs while its workflow is changed ends with the revision that it began with', async () => {
  const { gpus, service, importing, served, submit } = await given([['ink.safetensors', 'oil.safetensors']])
  const [gpu] = gpus
  await importing('ink.safetensors')
  await until(async () => (await served('flux.1-dev@1')) === 1, 'the first revision being served')
  gpu?.set({ held: true })
  const first = await submit()
  await until(() => gpu?.queue().length === 1, 'the first one at the server')
  const waiting = await submit({ seed: 6 })
  await importing('oil.safetensors')
  await until(async () => (await served('flux.1-dev@2')) === 1, 'the second revision being served')
  const second = await submit({ seed: 7 })
  gpu?.set({ held: false })
  const loras: unknown[] = []
  for (const { user, body } of [first, waiting, second])
    expect(await endOf(service, user, body.id)).toMatchObject({ status: 'succeeded' })
  for (const { prompt } of (gpu?.asked() ?? []) as { prompt: GivenGraph }[]) loras.push(prompt['10']?.inputs.lora_name)
  expect(loras).toEqual(['ink.safetensors', 'ink.safetensors', 'oil.safetensors'])
  // Nothing needs the first one any more.
  await until(async () => (await served('flux.1-dev@1')) === 0, 'the first revision no longer being served')
})

it('of two servers each draws what its files allow, and a file that goes away while work waits costs no credits', async () => {
  const { gpus, service, importing, served, submit } = await given([['ink.safetensors'], ['oil.safetensors']])
  await importing('ink.safetensors')
  await importing('oil.safetensors', { id: 302, name: 'schnell' })
  await until(
    async () => (await served('flux.1-dev@1')) + (await served('flux.1-schnell@1')) === 2,
    'both being served',
  )
  const both = [await submit(), await submit({ model_version_id: 302 })]
  for (const { user, body } of both) expect(await endOf(service, user, body.id)).toMatchObject({ status: 'succeeded' })
  expect(gpus.map((gpu) => gpu.asked().length)).toEqual([1, 1])
  const [ink] = gpus
  const loader = ink?.nodes.LoraLoader as object
  Object.assign(loader, { lora_name: [] })
  const { user, body } = await submit()
  await until(async () => (await served('flux.1-dev@1')) === 0, 'the lack being announced')
  const row = async () =>
    (await service.db.pool.query('SELECT status, tries FROM generations WHERE id = $1', [body.id])).rows[0]
  await until(async () => (await row()).status === 'queued', 'its being back in the queue')
  expect(await row()).toMatchObject({ tries: 0 })
  Object.assign(loader, { lora_name: ['ink.safetensors'] })
  expect(await endOf(service, user, body.id)).toMatchObject({ status: 'succeeded' })
})
