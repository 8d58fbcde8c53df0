import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { node, sampler, textToImage } from '../inference/comfyui/workflow/given-graphs.js'
import { startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import { type ComfyuiStandIn, startComfyuiStandIn } from '../stand-ins/comfyui/comfyui-stand-in.js'
import { type Service, startService } from '../support/service.js'
import { ONLY_WHEN_CALLED } from '../support/worker-times.js'
import { runLine } from './easel.js'

const folder = await mkdtemp(join(tmpdir(), 'easel-import-'))
afterAll(() => rm(folder, { recursive: true, force: true }))

let service: Service
let gpu: ComfyuiStandIn
beforeEach(async () => {
  gpu = await startComfyuiStandIn({ models: ['pony.safetensors'] })
  service = await startService()
})
afterEach(async () => {
  await service?.close()
  await gpu?.close()
})

const startWorkerOf = (...urls: string[]) => service.worker({}, { INFERENCE_URL: urls.join(',') })

const easel = (...line: string[]) => runLine(line, { DATABASE_URL: service.config.databaseUrl, LOG_LEVEL: 'silent' })
const listed = async (id: number) =>
  JSON.parse((await easel('models', 'list', '--json')).stdout).find((it: { id: number }) => it.id === id)
const FLUX = { id: 301, name: 'dev', model_name: 'FLUX.1', base_model: 'Flux', type: 'Workflow' }

async function importing(change: object, ...options: string[]) {
  const path = join(folder, 'models.json')
  await writeFile(path, JSON.stringify([{ ...FLUX, ...change }]))
  return easel('models', 'import', path, ...options)
}
const drawable = (steps = 20) => ({ workflow: textToImage({ '3': sampler({ steps }) }) })
/** With a checkpoint that the server does not have. */
const undrawable = {
  workflow: textToImage({ '4': node('CheckpointLoaderSimple', { ckpt_name: 'gone.safetensors' }, 'Load Checkpoint') }),
}
const LACKS =
  /It has no "gone\.safetensors" for ckpt_name of "Load Checkpoint" \(CheckpointLoaderSimple, node 4\): put /

describe('an import of a workflow', () => {
  it('says at once which GPU server draws it, although no worker was about to look', async () => {
    await service.worker({ times: ONLY_WHEN_CALLED }, { INFERENCE_URL: gpu.inferenceUrl })
    const { stdout, code } = await importing(drawable())
    expect([code, stdout]).toEqual([
      0,
      `Imported 1 model version.\nVersion 301 is new and draws with flux.1-dev@1; served by comfyui+${gpu.url}.\n` +
        '  An image costs 1 credit.\n' +
        'The default is version 301, FLUX.1 dev; it was version 1, NoobAI-XL v1.1. DEFAULT_MODEL_VERSION_ID or the console chooses another.\n' +
        '"easel models list" shows all, and which GPU servers draw them.\n',
    ])
    expect(await listed(301)).toMatchObject({ served_by: [`comfyui+${gpu.url}`], not_served: [] })
    expect((await easel('models', 'list')).stdout).toMatch(
      new RegExp(`^ *301 +FLUX\\.1 dev +flux\\.1-dev@1 +1 .*${new URL(gpu.url).host}$`, 'm'),
    )
  })

  it('says what each server lacks for a version that none can draw, which is imported if nothing worked before', async () => {
    const other = await startA1111StandIn({ models: ['pony.safetensors'] })
    onTestFinished(other.close)
    await startWorkerOf(gpu.inferenceUrl, other.inferenceUrl)
    const { stdout, code } = await importing(undrawable)
    expect(code).toBe(0)
    expect(stdout).toContain('Version 301 is new and draws with flux.1-dev@1; no GPU server that is up can draw it:\n')
    expect(stdout).toMatch(new RegExp(`^ {2}comfyui\\+${gpu.url}: ${LACKS.source}`, 'm'))
    expect(stdout).toContain(`  a1111+${other.url}: It draws no workflows: only ComfyUI does.\n`)
    expect((await importing({ ...undrawable, credits_per_image: 2 })).stdout).toContain(
      'Version 301 is changed and draws with flux.1-dev@1 as before (changed: credits_per_image); no GPU server',
    )
    expect((await importing({ ...undrawable, credits_per_step: 0.5 })).stdout).toContain('  An image costs at least ')
  })

  it('refuses to replace what is drawn by what no server can draw, unless --yes says so, and goes back', async () => {
    await startWorkerOf(gpu.inferenceUrl)
    await importing(drawable())
    const before = await listed(301)
    const { stdout, stderr, code } = await importing(undrawable)
    expect([code, stdout]).toEqual([1, ''])
    const [sentence, why] = stderr.split('\n')
    expect(sentence).toBe(
      'error: No GPU server that is up can draw flux.1-dev@2, and version 301 is drawn with flux.1-dev@1, so nothing was changed: add --yes if that is what you mean.',
    )
    expect(why).toMatch(LACKS)
    expect(await listed(301)).toEqual(before)

    const meant = await importing(undrawable, '--yes')
    expect([meant.code, meant.stdout]).toEqual([0, expect.stringContaining('Version 301 draws with flux.1-dev@2 now')])
    expect(await listed(301)).toMatchObject({ served_by: [], not_served: [expect.stringMatching(LACKS)] })
    const list = (await easel('models', 'list')).stdout
    expect(list).toMatch(/^ *301 .* nobody$/m)
    expect(list).toMatch(new RegExp(`^ {2}301: comfyui\\S+: ${LACKS.source}`, 'm'))

    const back = (await importing(drawable())).stdout
    expect(back).toContain('Version 301 goes back to flux.1-dev@1; served by comfyui+')
    expect((await importing(drawable())).stdout).toContain(
      'Version 301 is unchanged and draws with flux.1-dev@1; served',
    )
    expect((await importing(drawable(8))).stdout).toContain(
      'Version 301 draws with flux.1-dev@3 now (changed: defaults)',
    )
    const named = (await importing({ filename: 'flux.1-dev@1' })).stdout
    expect(named).toContain('Version 301 goes back to flux.1-dev@1; served by')
  })

  it('is possible while no GPU server is up, and says so', async () => {
    const none = await importing(drawable())
    expect(none.stdout).toContain('  No worker reports a GPU server: start one.\n')
    await gpu.refuse()
    await startWorkerOf(gpu.inferenceUrl)
    const { stdout, code } = await importing(drawable(8))
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /Version 301 draws with flux\.1-dev@2 now.*\n {2}No GPU server is up \(comfyui\S+: .*ECONNREFUSED/,
    )
  })
})

it('models list fits a terminal of 100 columns, whatever versions and servers are called', async () => {
  await startWorkerOf(gpu.inferenceUrl)
  const long = { model_name: 'A model with a very long name indeed', filename: `${'x'.repeat(60)}.safetensors` }
  await importing({ ...long, type: 'Checkpoint', credits_per_image: 1_000_000, nsfw: true })
  const [head, ...lines] = (await easel('models', 'list')).stdout.split('\n\n')[0]?.split('\n') ?? []
  expect(lines.length).toBeGreaterThan(10)
  expect([head, ...lines].filter((line) => [...`${line}`].length > 100)).toEqual([])
})
