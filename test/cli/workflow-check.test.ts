import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
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

  it('says which sizes it draws, and how large its image is', async () => {
    const { stdout } = await easel.run(check('e-hires-two-pass'))
    expect(stdout).toContain(
      'Sizes:\n  that of "Upscale Latent" (LatentUpscale, node 10) changes with the one that is asked for\n' +
        '  the image is 1.5 times as wide and as high as asked for',
    )
    expect((await easel.run(check('a-split-files'))).stdout).not.toContain('Sizes:')
    const unscaled = await easel.run(check('i-missing-node-class', '--allow-node', 'FaceDetailerPipeXYZ'))
    expect(unscaled.stdout).toContain('an import needs the scale')
    expect(await easel.json(check('e-hires-two-pass'))).toMatchObject({ scale: 1.5, size_multiple: 8 })
  })

  it('says what to do with a file that is no text', async () => {
    const path = join(easel.storage, 'other.json')
    const text = await readFile(join(GRAPHS, 'a-split-files.json'), 'utf8')
    for (const [bytes, sentence] of [
      [
        await sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } })
          .png()
          .toBuffer(),
        'drop it onto',
      ],
      [
        await sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } })
          .webp()
          .toBuffer(),
        'drop it onto',
      ],
      [Buffer.from(text, 'utf16le'), 'is not text in UTF-8: save it'],
      [Buffer.from(text.replace('"seed": ', '"größe": 1, "seed": '), 'latin1'), 'is not text in UTF-8: save it'],
      [Buffer.alloc(0), 'is not JSON'],
      [Buffer.from(text.replace('"seed": ', '"seed": NaN, "x": ')), 'is not JSON'],
    ] as const) {
      await writeFile(path, bytes)
      expect(await easel.error(['workflow', 'check', path])).toContain(sentence)
    }
    for (const encoding of ['utf8', 'utf16le'] as const) {
      await writeFile(path, `\ufeff${text}`, encoding)
      expect((await easel.run(['workflow', 'check', path])).code).toBe(0)
    }
    expect(await easel.error(['workflow', 'check', easel.storage])).toContain("can't be read (EISDIR)")
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
    expect([has.code, has.stdout]).toEqual([0, expect.stringContaining('\nThe server has all that it needs.\n')])
    expect((await easel.json(check('b-lora', '--server', gpu.url))).entry).not.toHaveProperty('limits')
    const size = { min: 64, max: 1020 }
    Object.assign(gpu.nodes.KSampler ?? {}, { steps: { min: 0, max: 40 }, cfg: { min: 0.5, max: 100 } })
    Object.assign(gpu.nodes.EmptyLatentImage ?? {}, { width: size, height: size })
    expect((await easel.json(check('b-lora', '--server', gpu.url))).entry).toMatchObject({
      limits: {
        ...{ steps: { min: 1, max: 40 }, cfg_scale: { min: 0.5, max: 30 } },
        ...{ width: { min: 256, max: 1016 }, height: { min: 256, max: 1016 } },
      },
    })
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

  it('ends with an entry that can be imported as it is from beside the workflow, under an ID that is free', async () => {
    const { default: graph } = await import('../inference/comfyui/workflow/graphs/a-split-files.json')
    const nodes: Record<string, object> = structuredClone(graph)
    nodes['12'] = { class_type: 'VAELoaderFromUrl', inputs: { url: 'https://models.test/vae.safetensors' } }
    const workflow = join(easel.storage, 'my flux.json')
    await writeFile(workflow, JSON.stringify(nodes))
    const check = ['workflow', 'check', workflow, '--allow-node', 'VAELoaderFromUrl']
    const entriesOf = (stdout: string) => /^\[$.*^\]$/ms.exec(stdout)?.[0] ?? ''
    const { stdout } = await easel.run(check)
    const models = join(easel.storage, 'models.json')
    expect(stdout).toContain(`\n\nTo offer it, save this as ${models}, `)
    expect(stdout.endsWith(`\n\nThen run "easel models import ${models}".\n`)).toBe(true)
    await writeFile(models, entriesOf(stdout))
    await easel.run(['models', 'import', models])
    expect(await easel.json('models list')).toContainEqual(
      expect.objectContaining({ id: 101, model_name: 'my flux', filename: 'my-flux-v1@1', credits_per_image: 1 }),
    )
    expect((await easel.json(check)).entry).toMatchObject({ id: 102, workflow_file: 'my flux.json' })
    const without = await easel.run(check, { DATABASE_URL: 'postgres://postgres@127.0.0.1:1/easel' })
    expect(JSON.parse(entriesOf(without.stdout))).toMatchObject([{ id: 101 }])
  })

  it('says why an import refuses the entry as it is, and exits with 1', async () => {
    const { default: graph } = await import('../inference/comfyui/workflow/graphs/a-split-files.json')
    const latent = Object.entries(graph).find(([, { class_type }]) => /Latent/.test(class_type))?.[0] ?? ''
    for (const [width, said] of [
      [4096, 'width must be an integer from 256 to 2048'],
      [128, 'width must be an integer from 256 to 2048'],
    ] as const) {
      const nodes: Record<string, { inputs: object }> = structuredClone(graph)
      Object.assign(nodes[latent]?.inputs ?? {}, { width })
      const path = join(easel.storage, 'sized.json')
      await writeFile(path, JSON.stringify(nodes))
      const { code, stdout } = await easel.run(['workflow', 'check', path])
      expect([code, stdout]).toEqual([1, expect.stringContaining('An import refuses this entry as it is:\n')])
      expect(stdout).toContain(said)
    }
    const unscaled = await easel.run(check('i-missing-node-class', '--allow-node', 'FaceDetailerPipeXYZ'))
    expect([unscaled.code, unscaled.stdout]).toEqual([1, expect.stringContaining('add "scale"')])
    expect((await easel.json(check('a-split-files'))).refused).toBeNull()
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
