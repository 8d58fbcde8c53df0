import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { expect, it, onTestFinished } from 'vitest'
import { readModelFile } from '../../src/cli/model-file.js'
import { operatorModelStore } from '../../src/db/operator/catalog.js'
import { startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import { startSdCppStandIn } from '../stand-ins/sdcpp/sdcpp-stand-in.js'
import { call, endOf } from '../support/client.js'
import { givenUser } from '../support/givens.js'
import { startService } from '../support/service.js'
import { until } from '../support/until.js'
import { QUICK } from '../support/worker-times.js'
import { PONY } from './given.js'

const MODEL = { id: 301, name: 'v6', model_name: 'Pony', base_model: 'Pony', type: 'Checkpoint', filename: PONY }
const HIRES = { scale: 1.5, upscaler: 'Latent', denoising_strength: 0.5 }

it('a checkpoint with options is sold by whichever server takes them, drawn, and shown at its real size', async () => {
  const lora = ['ink.safetensors']
  const gpus = [await startSdCppStandIn({ model: PONY }), await startA1111StandIn({ models: [PONY], files: { lora } })]
  for (const gpu of gpus) onTestFinished(gpu.close)
  const env = { INFERENCE_URL: gpus.map(({ inferenceUrl }) => inferenceUrl).join(','), RATE_LIMIT_MAX: '1000' }
  const service = await startService({ worker: { times: QUICK }, env })
  onTestFinished(service.close)
  const path = join(await mkdtemp(join(tmpdir(), 'easel-')), 'models.json')
  const options = { hires: HIRES, lora: [{ file: 'ink.safetensors', strength: 0.8 }] }
  await writeFile(
    path,
    JSON.stringify([
      { ...MODEL, options },
      { ...MODEL, id: 302 },
    ]),
  )
  const imported = await operatorModelStore(service.db).import(await readModelFile(path))
  expect(imported).toEqual({ outcome: 'imported', filenames: ['ponyDiffusionV6XL@1', PONY] })
  const servedBy = async (filename: string) => {
    const { rows } = await service.db.pool.query('SELECT FROM backends WHERE $1 = ANY (models)', [filename])
    return rows.length
  }
  await until(async () => (await servedBy('ponyDiffusionV6XL@1')) === 1, 'the definition being served')
  expect(await servedBy(PONY)).toBe(2)
  const user = await givenUser(service.db)
  const body = { model_version_id: 301, prompt: 'a fox <lora:other:1>', width: 256, height: 320, seed: 5 }
  const submitted = await call(service.url, 'POST', '/api/v1/generate', { key: user.key, body })
  const done = await endOf(service, user, submitted.body.id)
  expect(done).toMatchObject({ status: 'succeeded' })
  const { id } = done.output.images[0]
  const image = Buffer.from(await (await fetch(`${service.url}/cdn/${id}.png`)).arrayBuffer())
  expect(await sharp(image).metadata()).toMatchObject({ width: 384, height: 480 })
  const shown = await call(service.url, 'GET', `/api/v1/images/${id}`, { key: user.key })
  expect(shown.body).toMatchObject({
    ...{ width: 384, height: 480, filename: 'ponyDiffusionV6XL@1', prompt: 'a fox <lora:other:1>' },
    made_with: { backend: 'a1111', definition: { name: 'ponyDiffusionV6XL@1' } },
  })
  const [asked] = gpus.flatMap((gpu) => ('files' in gpu ? gpu.files() : []))
  expect(asked).toBe('lora:ink:0.8')
})
