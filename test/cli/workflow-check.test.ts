import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startComfyuiStandIn } from '../stand-ins/comfyui/comfyui-stand-in.js'
import { useEasel } from './easel.js'

const easel = useEasel()
const GRAPHS = 'test/inference/comfyui/workflow/graphs'
const check = (name: string, ...options: string[]) => ['workflow', 'check', join(GRAPHS, `${name}.json`), ...options]

describe('workflow check', () => {
  it('says where each parameter is written, what has no effect, and what the server must have', async () => {
    const { stdout, code } = await easel.run(check('f2-sampler-custom-advanced-basic-flux-style'))
    expect(code).toBe(0)
    expect(stdout).toContain('prompt     text of "CLIP Text Encode (Positive Prompt)" (CLIPTextEncode, node 6)')
    expect(stdout).toContain('negative   nothing')
    expect(stdout).toContain('seed       noise_seed of "RandomNoise" (RandomNoise, node 25)')
    expect(stdout).toContain('steps: 4')
    expect(stdout).toMatch(/Without effect:\n {2}negative_prompt has no effect: /)
    expect(stdout).toContain('noise-nano.safetensors, for "Load Checkpoint" (CheckpointLoaderSimple, node 4)')
  })

  it('says the same as JSON', async () => {
    const { bound, output, defaults, fixed } = await easel.json(check('e-hires-two-pass'))
    expect(bound.prompt).toEqual([{ node: '6', input: 'text' }])
    expect(output).toMatchObject({ output: 0 })
    expect(defaults).toMatchObject({ width: expect.any(Number), steps: expect.any(Number) })
    expect(fixed).toEqual(expect.any(Array))
  })

  it('refuses what it cannot use with one sentence, and exits with 1', async () => {
    expect(await easel.error(check('k-img2img'))).toContain('loads an image or another file as input')
    expect(await easel.error(['workflow', 'check', 'missing.json'])).toBe(
      "missing.json can't be read (ENOENT): give the path of a workflow.",
    )
    const editor = join(easel.storage, 'editor.json')
    await writeFile(editor, JSON.stringify({ nodes: [], links: [] }))
    expect(await easel.error(['workflow', 'check', editor])).toContain('Export (API)')
  })

  it('says what a server lacks for it, and exits with 1', async () => {
    const models = ['noise-nano.safetensors']
    const gpu = await startComfyuiStandIn({ models, loads: { lora: ['noise-nano-lora.safetensors'] } })
    onTestFinished(gpu.close)
    const has = await easel.run(check('b-lora', '--server', gpu.url))
    expect([has.code, has.stdout]).toEqual([0, expect.stringMatching(/\nThe server has all that it needs\.\n$/)])
    Object.assign(gpu.nodes.LoraLoader ?? {}, { lora_name: [] })
    const lacks = await easel.run(check('b-lora', '--server', gpu.inferenceUrl))
    expect(lacks.code).toBe(1)
    expect(lacks.stdout).toMatch(
      /What the server lacks:\n {2}It has no "noise-nano-lora.safetensors" for lora_name of /,
    )
    await gpu.close()
    expect(await easel.error(check('b-lora', '--server', gpu.url))).toMatch(
      /^comfyui\+http:\S+ can't be asked: .* Check that ComfyUI runs there\.$/,
    )
  })

  it('lets a node class pass that the operator allows', async () => {
    const path = join(easel.storage, 'url.json')
    const { default: graph } = await import('../inference/comfyui/workflow/graphs/a-split-files.json')
    const nodes: Record<string, object> = structuredClone(graph)
    const [first] = Object.entries(graph).find(([, { class_type }]) => class_type === 'VAELoader') ?? []
    nodes[`${first}`] = { class_type: 'VAELoaderFromUrl', inputs: { url: 'https://models.test/vae.safetensors' } }
    await writeFile(path, JSON.stringify(nodes))
    expect(await easel.error(['workflow', 'check', path])).toContain('VAELoaderFromUrl')
    expect((await easel.run(['workflow', 'check', path, '--allow-node', 'VAELoaderFromUrl'])).code).toBe(0)
  })
})
