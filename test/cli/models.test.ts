import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { node, sampler, textToImage } from '../inference/comfyui/workflow/given-graphs.js'
import { startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import { startComfyuiStandIn } from '../stand-ins/comfyui/comfyui-stand-in.js'
import { useEasel } from './easel.js'

const easel = useEasel()
const PONY = {
  id: 101,
  name: 'v6',
  model_name: 'Pony Diffusion',
  base_model: 'Pony',
  type: 'Checkpoint',
  filename: 'ponyDiffusionV6XL.safetensors',
  cover_image: null,
  nsfw: false,
  enabled: true,
  credits_per_image: 1,
  create_image_model: null,
}

async function file(content: unknown): Promise<string> {
  const path = join(easel.storage, 'models.json')
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}
const importing = async (content: unknown) => easel.json(['models', 'import', await file(content)])
const refusal = async (content: unknown) => easel.error(['models', 'import', await file(content)])
/** Without what is said of GPU servers, of which there are none. */
const listed = async (id: number) => {
  const found = (await easel.json('models list')).find((model: { id: number }) => model.id === id)
  const { served_by: _, not_served: __, ...entry } = found ?? {}
  return found && entry
}

let seeded: unknown
beforeEach(async () => {
  seeded ??= await easel.json('models list')
  await easel.db.pool.query('DELETE FROM model_versions')
  await importing(seeded)
})

describe('models import', () => {
  it('adds versions, and updates those that are there', async () => {
    expect(await importing([PONY, { ...PONY, id: 102, name: 'v7' }])).toMatchObject({ imported: 2 })
    expect(await listed(101)).toEqual(PONY)
    expect(await importing([{ ...PONY, credits_per_image: 3, nsfw: true }])).toMatchObject({ imported: 1 })
    expect(await listed(101)).toEqual({ ...PONY, credits_per_image: 3, nsfw: true })
    expect(await listed(102)).toMatchObject({ name: 'v7' })
  })

  it('accepts what models list --json shows', async () => {
    const before = await easel.json('models list')
    expect(before.length).toBeGreaterThan(6)
    expect(await importing(before)).toMatchObject({ imported: before.length })
    expect(await easel.json('models list')).toEqual(before)
  })

  it('gives a new version the defaults, and keeps what an update leaves out', async () => {
    const { id, name, model_name, base_model, type, filename } = PONY
    const short = { id, name, model_name, base_model, type, filename }
    await importing([short])
    expect(await listed(101)).toEqual(PONY)
    await importing([{ ...PONY, enabled: false, cover_image: 'https://cdn.test/pony.png', create_image_model: null }])
    await importing([{ ...short, name: 'v6.1' }])
    expect(await listed(101)).toEqual({
      ...PONY,
      name: 'v6.1',
      enabled: false,
      cover_image: 'https://cdn.test/pony.png',
    })
  })

  it('takes a description and a place, and takes them away with null', async () => {
    await importing([{ ...PONY, description: 'Ponies, drawn', position: 3 }])
    await importing([PONY])
    expect(await listed(101)).toEqual({ ...PONY, description: 'Ponies, drawn', position: 3 })
    await importing([{ ...PONY, description: null, position: null }])
    expect(await listed(101)).toEqual(PONY)
  })

  it('takes parameters and a price of its own, keeps them through an update, and lists what it takes', async () => {
    const turbo = {
      ...PONY,
      ...{ credits_per_image: 0, credits_per_megapixel: 1.5, credits_per_step: 0.02, minimum_credits: 1 },
      defaults: { steps: 8, cfg_scale: 1, sampler: 'euler', width: 1024, height: 1024 },
      limits: { steps: { min: 1, max: 12 } },
      ignored: ['negative_prompt', 'cfg_scale'],
    }
    await importing([turbo])
    expect(await listed(101)).toEqual(turbo)
    await importing([{ ...PONY, credits_per_image: 0, name: 'v7' }])
    expect(await listed(101)).toEqual({ ...turbo, name: 'v7' })
    expect((await easel.run('models list')).stdout).toMatch(/from 1/)
    const none = { credits_per_megapixel: null, credits_per_step: null, minimum_credits: null }
    await importing([{ ...PONY, ...none, defaults: null, limits: null, ignored: null }])
    expect(await listed(101)).toEqual(PONY)
  })

  it.each([
    [{ credits_per_step: 0.00001 }, 'credits_per_step must be a number from 0 to 1000000 with at most 4 decimals'],
    [{ credits_per_megapixel: -1 }, 'credits_per_megapixel must be a number'],
    [{ minimum_credits: 0.5 }, 'minimum_credits must be a whole number'],
    [{ defaults: { steps: 101 } }, 'in defaults, steps must be an integer from 1 to 100'],
    [{ defaults: { width: 1001 } }, 'in defaults, width must be a multiple of 8'],
    [{ defaults: { width: 2048, height: 2048 } }, 'in defaults, width × height must be at most 3145728 pixels'],
    [{ defaults: { sampler: 'res_multistep' } }, 'in defaults, sampler must be one of: '],
    [{ defaults: { seed: 1 } }, 'unknown field "seed" in defaults; the fields are negative_prompt, '],
    [{ limits: { steps: { min: 12, max: 1 } } }, 'limits.steps must be {"min": …, "max": …}'],
    [{ limits: { steps: { min: 0, max: 12 } } }, 'limits.steps must be {"min": …, "max": …}'],
    [{ limits: { seed: { min: 0, max: 12 } } }, 'unknown field "seed" in limits; the fields are width, '],
    [
      { limits: { steps: { min: 1, max: 12 } }, defaults: { steps: 30 } },
      'The default steps 30 is outside its own limits',
    ],
    [{ limits: { steps: { min: 1, max: 12 } } }, 'The default steps 30 is outside its own limits'],
    [{ ignored: ['cfg_scale'] }, 'cfg_scale is ignored, so defaults must say what it is.'],
    [{ ignored: ['prompt'] }, 'ignored.0 must be a list of negative_prompt, steps, cfg_scale, sampler'],
    [{ ignored: 'steps' }, 'ignored must be a list of negative_prompt'],
  ])('refuses parameters and prices that cannot be, and changes nothing: %j', async (more, sentence) => {
    const before = await easel.json('models list')
    expect(await refusal([{ ...PONY, ...more }])).toContain(`Entry 1: ${sentence}`)
    expect(await easel.json('models list')).toEqual(before)
  })

  describe('with a workflow', () => {
    const { filename: _, ...FLUX } = { ...PONY, id: 301, name: 'dev', model_name: 'FLUX.1', credits_per_image: 2 }
    /** As exported, with a distilled model's settings. */
    const graph = (inputs: object = {}) => textToImage({ '3': sampler({ cfg: 1, steps: 8, ...inputs }) })
    const definitions = async () =>
      (await easel.db.pool.query('SELECT filename, revision, hash, document FROM model_definitions ORDER BY filename'))
        .rows as { filename: string; document: string }[]
    beforeEach(() => easel.db.pool.query('DELETE FROM model_definitions'))

    it('makes a version whose defaults, and what has no effect, are the workflow’s', async () => {
      expect(await importing([{ ...FLUX, workflow: graph() }])).toMatchObject({ imported: 1 })
      expect(await listed(301)).toEqual({
        ...FLUX,
        filename: 'flux.1-dev@1',
        defaults: { width: 512, height: 768, steps: 8, cfg_scale: 1, sampler: 'euler' },
        ignored: ['negative_prompt', 'cfg_scale'],
      })
      expect(JSON.parse((await definitions())[0]?.document as string)).toMatchObject({
        ...{ kind: 'workflow', scale: 1, binding: { prompt: [['6', 'text']], seed: [['3', 'seed']] } },
        graph: { '3': { class_type: 'KSampler' } },
      })
    })

    it('limits the steps to those that its scheduler takes, unless the entry says others', async () => {
      const turbo = textToImage({
        '3': node('SamplerCustom', {
          ...{ add_noise: true, noise_seed: 1, cfg: 1, model: ['4', 0], positive: ['6', 0], negative: ['7', 0] },
          ...{ sampler: ['10', 0], sigmas: ['11', 0], latent_image: ['5', 0] },
        }),
        '10': node('KSamplerSelect', { sampler_name: 'euler_ancestral' }),
        '11': node('SDTurboScheduler', { steps: 1, denoise: 1, model: ['4', 0] }),
      })
      await importing([{ ...FLUX, workflow: turbo }])
      expect(await listed(301)).toMatchObject({ limits: { steps: { min: 1, max: 10 } } })
      await importing([{ ...FLUX, workflow: turbo, limits: { steps: { min: 1, max: 4 } } }])
      expect(await listed(301)).toMatchObject({ limits: { steps: { min: 1, max: 4 } } })
      await importing([{ ...FLUX, workflow: turbo, limits: null }])
      expect(await listed(301)).not.toHaveProperty('limits')
    })

    it('from a file beside it, under the name that it says, and with what it says itself', async () => {
      await writeFile(join(easel.storage, 'krea.json'), JSON.stringify(graph({ sampler_name: 'res_multistep' })))
      const own = { defaults: { steps: 6, width: 1024 }, limits: { steps: { min: 4, max: 12 } }, ignored: ['steps'] }
      await importing([{ ...FLUX, ...own, filename: 'krea', workflow_file: 'krea.json' }])
      expect(await listed(301)).toMatchObject({
        filename: 'krea@1',
        defaults: { width: 1024, height: 768, steps: 6, cfg_scale: 1, sampler: 'euler' },
        limits: { steps: { min: 4, max: 12 } },
        ignored: ['negative_prompt', 'cfg_scale', 'sampler', 'steps'],
      })
    })

    it('keeps the revision of the same content, makes another one of other content, and can go back', async () => {
      await importing([{ ...FLUX, workflow: graph() }])
      await importing([
        { ...FLUX, workflow: graph() },
        { ...FLUX, id: 302, filename: 'flux.1-dev', workflow: graph() },
      ])
      expect([(await listed(301)).filename, (await listed(302)).filename]).toEqual(['flux.1-dev@1', 'flux.1-dev@1'])
      await importing([{ ...FLUX, workflow: graph({ steps: 6 }) }])
      expect([(await listed(301)).filename, (await listed(302)).filename]).toEqual(['flux.1-dev@2', 'flux.1-dev@1'])
      await importing([await listed(302)])
      expect((await listed(302)).filename).toBe('flux.1-dev@1')
      await importing([{ ...(await listed(301)), workflow: graph({ steps: 7 }) }])
      expect((await listed(301)).filename).toBe('flux.1-dev@3')
      expect(await definitions()).toHaveLength(3)
    })

    it('is what a check of a server looks for and draws with, by the ID of the version', async () => {
      const gpu = await startComfyuiStandIn({ models: ['pony.safetensors'] })
      onTestFinished(gpu.close)
      await importing([{ ...FLUX, workflow: graph() }])
      const check = ['backend', 'check', gpu.url, '--model', '301']
      expect((await easel.run(check)).stdout).toMatch(
        /models: 1 of 1\nsamplers: .*\ndrawing one image…\nimage: 512×768, flux\.1-dev@1, euler, 8 steps, /,
      )
      Object.assign(gpu.nodes.CheckpointLoaderSimple ?? {}, { ckpt_name: [] })
      const { stdout, code } = await easel.run(check)
      expect(stdout).not.toContain('it has: ')
      expect([code, stdout]).toEqual([
        1,
        expect.stringContaining('flux.1-dev@1: It has no "pony.safetensors" for ckpt_name of '),
      ])
    })

    it('can be listed and imported again', async () => {
      await importing([{ ...FLUX, scale: 2, size_multiple: 16, workflow: graph() }])
      const before = await listed(301)
      expect(before).toMatchObject({ scale: 2, size_multiple: 16 })
      await importing([before])
      expect(await listed(301)).toEqual(before)
    })

    it.each([
      [{ workflow: { nodes: [], links: [] } }, 'The workflow is in the format of ComfyUI’s editor'],
      [{ workflow: {} }, 'The workflow has no nodes'],
      [{ workflow: 5 }, 'workflow must be the object that ComfyUI exports'],
      [{ workflow_file: 'nowhere.json' }, 'nowhere.json can’t be read (ENOENT)'],
      [
        { workflow: graph(), workflow_file: 'krea.json' },
        'It has a workflow and a workflow_file: leave one of them out.',
      ],
      [{}, 'filename is missing; a workflow_file can stand for it.'],
      [{ filename: 'pony.safetensors', scale: 2 }, 'scale is for a workflow only.'],
      [{ workflow: graph(), scale: 9 }, 'scale must be a number from 0.125 to 8'],
      [
        { workflow: graph(), scale: 8 },
        'The default size 512 × 768 is too large for images that are 8 times as wide and as high: width × height must be at most 262144.',
      ],
      [{ workflow: graph(), size_multiple: 12 }, 'size_multiple must be 8, 16, 32 or 64'],
      [
        { workflow: textToImage({ '5': node('EmptyLatentImage', { width: 4096, height: 768, batch_size: 1 }) }) },
        'In the workflow, width must be an integer from 256 to 2048: change it in ComfyUI and export it again, or say another one in the defaults of an import.',
      ],
      [
        { workflow: textToImage({ '4': node('LoadModelFromUrl', { url: 'https://evil.test/m' }) }) },
        'can reach files or addresses outside the server’s models',
      ],
    ])('refuses what cannot be, and stores nothing: %j', async (more, sentence) => {
      const before = await easel.json('models list')
      expect((await refusal([{ ...FLUX, ...more }])).replaceAll("'", '’')).toContain(sentence)
      expect([await easel.json('models list'), await definitions()]).toEqual([before, []])
    })

    it('takes a node that reaches out only when it is allowed by its class', async () => {
      const workflow = textToImage({ '4': node('CheckpointLoaderFromPath', { path: 'models/pony.safetensors' }) })
      expect(await refusal([{ ...FLUX, workflow }])).toContain("--allow-node 'CheckpointLoaderFromPath'")
      expect(await importing([{ ...FLUX, workflow, allow_nodes: ['CheckpointLoaderFromPath'] }])).toMatchObject({
        imported: 1,
      })
    })
  })

  describe('with options', () => {
    const hires = { scale: 1.5, upscaler: 'Latent', denoising_strength: 0.5 }
    const documents = async () =>
      (await easel.db.pool.query('SELECT filename, document FROM model_definitions ORDER BY filename')).rows.map(
        ({ filename, document }) => [filename, JSON.parse(document)],
      )
    beforeEach(() => easel.db.pool.query('DELETE FROM model_definitions'))

    it('makes a definition that is named after the checkpoint, and whose images are as large as they are', async () => {
      const options = { hires, lora: [{ file: 'ink.safetensors', strength: 0.8 }] }
      expect(await importing([{ ...PONY, options }])).toMatchObject({ imported: 1 })
      expect(await listed(101)).toEqual({ ...PONY, filename: 'ponyDiffusionV6XL@1', scale: 1.5 })
      expect(await documents()).toEqual([
        ['ponyDiffusionV6XL@1', { kind: 'checkpoint', checkpoint: PONY.filename, options }],
      ])
    })

    it('makes a revision for other options, whatever their order, and can be listed and imported again', async () => {
      await importing([{ ...PONY, options: { clip_skip: 2, vae: 'mse.safetensors' } }])
      await importing([{ ...PONY, options: { vae: 'mse.safetensors', clip_skip: 2 } }])
      const before = await listed(101)
      expect(before.filename).toBe('ponyDiffusionV6XL@1')
      await importing([before])
      expect(await listed(101)).toEqual(before)
      await importing([{ ...PONY, id: 102, options: { hires } }])
      expect(await listed(102)).toMatchObject({ filename: 'ponyDiffusionV6XL@2', scale: 1.5 })
      await importing([{ ...PONY, id: 102, options: { clip_skip: 3 } }])
      expect(await listed(102)).toEqual({ ...PONY, id: 102, filename: 'ponyDiffusionV6XL@3' })
      await importing([PONY])
      expect(await listed(101)).toEqual(PONY)
      expect(await documents()).toHaveLength(3)
    })

    it('is what a check of a server looks for and draws with, by the ID of the version', async () => {
      const vae = ['mse.safetensors']
      const gpu = await startA1111StandIn({ models: [PONY.filename], files: { vae } })
      onTestFinished(gpu.close)
      await importing([{ ...PONY, options: { hires, vae: 'mse.safetensors' } }])
      const check = ['backend', 'check', gpu.url, '--model', '101']
      expect((await easel.run(check)).stdout).toMatch(
        /models: 1 of 1\nsamplers: .*\ndrawing one image…\nimage: 768×768, ponyDiffusionV6XL@1, /,
      )
      vae.pop()
      const { stdout, code } = await easel.run(check)
      expect([code, stdout]).toEqual([
        1,
        expect.stringContaining('ponyDiffusionV6XL@1: It does not have the VAE "mse.safetensors".'),
      ])
    })

    it.each([
      [{ options: {} }, 'options must have an option'],
      [{ options: [] }, 'options must be an object of options'],
      [
        { options: { clipskip: 2 } },
        'unknown field "clipskip" in options; the fields are vae, clip_skip, lora, hires, ',
      ],
      [{ options: { clip_skip: 0 } }, 'options.clip_skip must be a whole number from 1 to 12'],
      [{ options: { vae: 'a/b.safetensors' } }, 'options.vae must be a file name without a folder'],
      [
        { options: { lora: [{ file: 'a>b', strength: 1 }] } },
        'options.lora.0.file must be a file name without a folder',
      ],
      [{ options: { lora: [{ file: 'a' }] } }, 'options.lora.0.strength must be a number from -10 to 10'],
      [{ options: { lora: 'a' } }, 'options.lora must be a list of {"file": …, "strength": …}'],
      [{ options: { hires: { ...hires, scale: 1 } } }, 'options.hires.scale must be a number above 1 and up to 4'],
      [
        { options: { hires: { ...hires, upscaler: 'None' } } },
        'options.hires.upscaler must be the name of an upscaler',
      ],
      [{ options: { hires: { ...hires, step: 3 } } }, 'options.hires must be {"scale": …, "upscaler": …, '],
      [{ options: { flow_shift: '3' } }, 'options.flow_shift must be a number from 0 to 100'],
      [{ options: { clip_skip: 2 }, filename: undefined }, 'filename is missing'],
      [{ options: { clip_skip: 2 }, filename: 'pony@1' }, 'filename must be the checkpoint’s'],
      [{ options: { clip_skip: 2 }, scale: 2 }, 'scale is for a workflow only.'],
      [
        { options: { clip_skip: 2 }, workflow: textToImage() },
        'It has options and a workflow: put them into the workflow',
      ],
    ])('refuses what cannot be, and stores nothing: %j', async (more, sentence) => {
      expect((await refusal([{ ...PONY, ...more }])).replaceAll("'", '’')).toContain(sentence)
      expect(await documents()).toEqual([])
    })
  })

  it('moves a Create Image model to another version, or two of them around, in one file', async () => {
    const models: { id: number; create_image_model: string | null }[] = await easel.json('models list')
    const of = (name: string) => models.find((model) => model.create_image_model === name) as (typeof models)[number]
    const [noobai, milk] = [of('noobai-xl'), of('plant-milk')]
    await importing([
      { ...noobai, create_image_model: 'plant-milk' },
      { ...milk, create_image_model: 'noobai-xl' },
    ])
    expect(await listed(noobai.id)).toMatchObject({ create_image_model: 'plant-milk' })
    await importing([
      { ...PONY, create_image_model: 'plant-milk' },
      { ...noobai, create_image_model: null },
    ])
    expect(await listed(101)).toMatchObject({ create_image_model: 'plant-milk' })
    expect(await listed(noobai.id)).toMatchObject({ create_image_model: null })
  })

  it('refuses a Create Image model that another version serves, and changes nothing', async () => {
    expect(
      await refusal([
        { ...PONY, id: 102 },
        { ...PONY, create_image_model: 'noobai-xl' },
      ]),
    ).toBe(
      'create_image_model noobai-xl belongs to model version 1: to move it, set it to null there in the same import.',
    )
    expect(await listed(102)).toBeUndefined()
  })

  it('names the entry and the field that is wrong', async () => {
    const wrong = (change: object) => refusal([PONY, { ...PONY, id: 102, ...change }])
    expect(await wrong({ id: 0 })).toBe('Entry 2: id must be a whole number from 1.')
    expect(await wrong({ id: '102' })).toBe('Entry 2: id must be a whole number from 1.')
    expect(await wrong({ name: '' })).toBe('Entry 2: name must be one line of 1 to 255 characters.')
    expect(await wrong({ model_name: 7 })).toBe('Entry 2: model_name must be a text.')
    expect(await wrong({ filename: undefined })).toBe('Entry 2: filename is missing; a workflow_file can stand for it.')
    expect(await wrong({ cover_image: 'pony.png' })).toBe(
      'Entry 2: cover_image must be an http:// or https:// URL, or null.',
    )
    expect(await wrong({ description: 'x'.repeat(201) })).toBe(
      'Entry 2: description must be one line of 1 to 200 characters, or null.',
    )
    expect(await wrong({ position: 0 })).toBe('Entry 2: position must be a whole number from 1 to 1000000, or null.')
    expect(await wrong({ nsfw: 'no' })).toBe('Entry 2: nsfw must be true or false.')
    expect(await wrong({ credits_per_image: -1 })).toBe(
      'Entry 2: credits_per_image must be a whole number from 0 to 1000000.',
    )
    expect(await wrong({ create_image_model: 'noobai' })).toMatch(
      /^Entry 2: create_image_model must be noobai-xl, .*, or null\.$/,
    )
    expect(await wrong({ basemodel: 'Pony' })).toMatch(
      /^Entry 2: unknown field "basemodel"; the fields are id, name, .*, create_image_model, .*\.$/,
    )
    expect(await refusal([7])).toBe('Entry 1: must be a JSON object.')
    expect(await refusal([PONY, { ...PONY, name: 'v7' }])).toBe('Entries 1 and 2 have the same id, 101.')
    const served = { ...PONY, create_image_model: 'noobai-xl' }
    expect(await refusal([served, { ...served, id: 102 }])).toBe(
      'Entries 1 and 2 have the same create_image_model, noobai-xl.',
    )
  })

  it('says what is wrong with the file', async () => {
    for (const workflow of [textToImage(), { input: { workflow: textToImage() } }, { nodes: [], links: [] }])
      expect(await refusal(workflow)).toMatch(
        /models\.json is a ComfyUI workflow itself, and an import needs an entry that names it: "easel workflow check FILE"/,
      )
    expect(await refusal({ models: [] })).toMatch(/models\.json must hold a JSON array of model versions\.$/)
    expect(await refusal('[{]')).toMatch(/models\.json is not valid JSON from line 1, column 3 on\.$/)
    expect(await easel.error('models import /no/such.json')).toBe(
      "/no/such.json can't be read (ENOENT): give the path of a JSON file.",
    )
  })

  it('takes an empty list for nothing to do', async () => {
    expect(await importing([])).toEqual({ imported: 0, versions: [] })
    expect(await easel.text(['models', 'import', await file([])])).toBe('Imported 0 model versions.')
  })
})

describe('models list', () => {
  it('lists in the catalog order, disabled ones too', async () => {
    await importing([
      { ...PONY, id: 900, model_name: 'aaa first', enabled: false },
      { ...PONY, id: 901, model_name: 'Zzz last' },
    ])
    const ids = (await easel.json('models list')).map(({ id }: { id: number }) => id)
    expect([ids[0], ids.at(-1)]).toEqual([900, 901])
    const lines = (await easel.text('models list')).split('\n')
    expect(lines[0]).toMatch(/^ *id +version +file +credits +marks +served by$/)
    expect(lines[1]).toMatch(/^ *900 +aaa first v6 +ponyDiffusionV6XL\.safeten… +1 +- +off$/)
    expect(lines.filter((line) => / default +nobody$/.test(line))).toHaveLength(1)
  })

  it('says when the catalog is empty', async () => {
    await easel.db.pool.query('DELETE FROM model_versions')
    expect(await easel.json('models list')).toEqual([])
    expect(await easel.text('models list')).toBe('No model versions: import some with "models import FILE.json".')
  })
})

describe('models enable and disable', () => {
  it('offer a version or not', async () => {
    expect(await easel.json('models disable 10')).toEqual({ id: 10, enabled: false })
    expect(await listed(10)).toMatchObject({ enabled: false })
    expect(await easel.text('models enable 10')).toBe('Model version 10 is enabled.')
    expect(await listed(10)).toMatchObject({ enabled: true })
  })

  it('refuse a version that is not there', async () => {
    expect(await easel.error('models disable 12345')).toBe(
      'No model version has the ID 12345: "easel models list" shows them.',
    )
    expect(await easel.error('models enable pony')).toMatch(/^ID must be a whole number from 1 to \d+, not "pony"\.$/)
  })
})
