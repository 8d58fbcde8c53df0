import { readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { feeds, type Slot, WorkflowProblem } from '../../../../src/inference/comfyui/workflow/workflow-graph.js'
import {
  bound,
  customAdvanced,
  type GivenGraph,
  graphFile,
  node,
  refusal,
  sampler,
  textToImage,
} from './given-graphs.js'

/** Draws what the first sampler has drawn once more. */
const twoPasses = (changes: GivenGraph = {}, first = sampler()) =>
  textToImage({
    '3': first,
    '8': node('VAEDecode', { samples: ['30', 0], vae: ['4', 2] }),
    '30': sampler({ seed: 5, steps: 4, cfg: 3, denoise: 0.4, latent_image: ['3', 0] }, 'Second pass'),
    ...changes,
  })
const number = (value: number, title: string) => node('PrimitiveInt', { value }, title)
const encoder = (text: string, title?: string) => node('CLIPTextEncode', { text, clip: ['4', 1] }, title)
const contradicted = (role: string) =>
  expect.stringMatching(
    new RegExp(`has the title "${role}", but .* does not get its ${role} from there: the wires decide`),
  )

describe('a title that the wires contradict takes nothing away, and is told of:', () => {
  it.each<[string, GivenGraph, Record<string, unknown>, string]>([
    [
      'steps of a later pass',
      twoPasses({ '30': sampler({ steps: ['40', 0], latent_image: ['3', 0] }), '40': number(4, 'steps') }),
      { steps: [['3', 'steps']] },
      'steps',
    ],
    [
      'cfg of a later pass',
      twoPasses({ '30': sampler({ cfg: ['40', 0], latent_image: ['3', 0] }), '40': number(3, 'cfg') }),
      { cfg: [['3', 'cfg']] },
      'cfg',
    ],
    [
      'cfg at a scale of something else',
      textToImage({
        '3': sampler({ model: ['40', 0] }),
        '40': node('RescaleCFG', { multiplier: 0.7, model: ['4', 0] }, 'cfg'),
      }),
      { cfg: [['3', 'cfg']] },
      'cfg',
    ],
    [
      'width and height of a mask',
      textToImage({
        '3': sampler({ positive: ['40', 0] }),
        '40': node('ConditioningSetMask', { conditioning: ['6', 0], mask: ['41', 0], strength: 1 }),
        '41': node('SolidMask', { value: 1, width: ['42', 0], height: ['43', 0] }),
        '42': number(64, 'width'),
        '43': number(96, 'height'),
      }),
      { width: [['5', 'width']], height: [['5', 'height']] },
      'width',
    ],
    [
      'size of an image that is drawn from the first',
      twoPasses({
        '30': sampler({ latent_image: ['40', 0] }),
        '40': node('LatentUpscale', { samples: ['3', 0], width: 1024, height: 1536 }, 'size'),
      }),
      { width: [['5', 'width']], height: [['5', 'height']] },
      'size',
    ],
    [
      'steps beside those of a scheduler',
      customAdvanced({
        '3': node('SamplerCustomAdvanced', {
          ...{ noise: ['20', 0], guider: ['21', 0], sampler: ['22', 0], sigmas: ['40', 0], latent_image: ['5', 0] },
        }),
        '40': node('SplitSigmas', { step: 2, sigmas: ['23', 0] }, 'steps'),
      }),
      { steps: [['23', 'steps']] },
      'steps',
    ],
    [
      'prompt on the negative side',
      textToImage({ '7': encoder('blurred', 'prompt') }),
      { prompt: [['6', 'text']], negative: [['7', 'text']] },
      'prompt',
    ],
    [
      'negative on the positive side',
      textToImage({ '6': encoder('a cat', 'Negative') }),
      { prompt: [['6', 'text']], negative: [['7', 'text']] },
      'negative',
    ],
  ])('%s', (_, graph, binding, role) => {
    const found = bound(graph)
    expect(found.binding).toMatchObject(binding)
    expect(found.notes).toContainEqual(contradicted(role))
  })

  it('a seed that only a later pass gets: each image of a batch is another', () => {
    const { binding, notes } = bound(
      twoPasses({ '30': sampler({ seed: ['40', 0], latent_image: ['3', 0] }), '40': number(5, 'seed') }),
    )
    expect(binding.seed).toEqual([
      ['3', 'seed'],
      ['40', 'value'],
    ])
    expect(notes.filter((note) => note.includes('seed'))).toEqual([])
  })

  it('a seed of no sampler', () => {
    const scaled = (input: string) =>
      bound(
        textToImage({
          '9': node('SaveImage', { images: ['40', 0] }),
          '40': node('ImageScaleBy', { image: ['8', 0], upscale_method: 'area', [input]: 2, scale_by: 2 }, 'seed'),
        }),
      )
    expect(scaled('scale_by').binding.seed).toEqual([['3', 'seed']])
    expect(scaled('scale_by').notes).toContainEqual(contradicted('seed'))
    expect(scaled('seed').binding.seed).toEqual([
      ['3', 'seed'],
      ['40', 'seed'],
    ])
    expect(scaled('seed').notes).toContainEqual(expect.stringContaining('gets the seed, too, as its title says'))
  })

  it('a sampler that goes on with the image', () => {
    const { binding, notes } = bound(twoPasses({ '30': sampler({ steps: 4, latent_image: ['3', 0] }, 'sampler') }))
    expect(binding.steps).toEqual([['3', 'steps']])
    expect(notes).toContainEqual(expect.stringContaining('but the image begins at'))
  })

  it('the prompt at a loader, which the text needs, too', () => {
    const { '4': loader } = textToImage()
    const title = (role: string) => textToImage({ '4': { ...node('X', {}), ...loader, _meta: { title: role } } })
    for (const role of ['prompt', 'negative']) expect(refusal(title(role))).toMatch(/not one text of its own/)
  })

  it('a negative text that no guidance reads', () => {
    const { binding, fixed } = bound(textToImage({ '3': sampler({ cfg: 1 }), '7': encoder('x', 'negative') }))
    expect(binding.negative).toEqual([])
    expect(fixed.map(({ parameter }) => parameter)).toContain('negative_prompt')
  })

  it('whatever is on a node that the image does not need', () => {
    const { binding, notes } = bound(textToImage({ '40': number(7, 'seed'), '41': encoder('x', 'prompt') }))
    expect(binding).toMatchObject({ prompt: [['6', 'text']], seed: [['3', 'seed']] })
    expect(notes).toEqual([
      '"prompt" (CLIPTextEncode, node 41) has the title "prompt", but no part in the image: the title has no effect.',
      '"seed" (PrimitiveInt, node 40) has the title "seed", but no part in the image: the title has no effect.',
    ])
  })
})

describe('a title settles what the wires leave open:', () => {
  it('where a computed seed, steps, cfg and size begin', () => {
    const sum = (id: string) => node('Sum', { a: [id, 0], b: 1 })
    const { binding, notes } = bound(
      textToImage({
        '3': sampler({ seed: ['50', 0], steps: ['51', 0], cfg: ['52', 0] }),
        '5': node('EmptyLatentImage', { width: ['53', 0], height: ['54', 0], batch_size: 1 }),
        ...Object.fromEntries(
          ['seed', 'steps', 'cfg', 'width', 'height'].flatMap((title, n) => [
            [`5${n}`, sum(`6${n}`)],
            [`6${n}`, number(8, title)],
          ]),
        ),
      }),
    )
    expect(binding).toMatchObject({
      ...{ seed: [['60', 'value']], steps: [['61', 'value']], cfg: [['62', 'value']] },
      ...{ width: [['63', 'value']], height: [['64', 'value']] },
    })
    expect(notes.filter((note) => note.includes('title'))).toEqual([])
  })

  it('the text of a later pass, which gets the prompt beside the first', () => {
    const graph = twoPasses({
      '30': sampler({ latent_image: ['3', 0], positive: ['31', 0] }),
      '31': encoder('a dog', 'prompt'),
    })
    expect(bound(graph).binding.prompt).toEqual([
      ['6', 'text'],
      ['31', 'text'],
    ])
  })
})

describe('of a workflow that ran on a real server', () => {
  const FILES = readdirSync(new URL('./graphs/', import.meta.url)).map((file) => file.replace(/\.json$/, ''))
  const ROLES = ['prompt', 'negative', 'size', 'width', 'height', 'seed', 'steps', 'cfg', 'sampler']
  const read = (graph: GivenGraph) => {
    try {
      return bound(graph)
    } catch (error) {
      if (error instanceof WorkflowProblem) return undefined
      throw error
    }
  }

  it.each(FILES)('no title on any node takes a parameter away from where the wires have it: %s', (file) => {
    const graph: GivenGraph = JSON.parse(graphFile(file))
    const plain = read(graph)
    if (!plain) return
    for (const [id, its] of Object.entries(graph))
      for (const title of ROLES) {
        const { binding } = read({ ...graph, [id]: { ...its, _meta: { title } } }) ?? plain
        for (const name of ['prompt', 'negative', 'width', 'height', 'seed', 'steps', 'cfg'] as const) {
          const isWritten = (slot: Slot) =>
            binding[name].some((it) => String(it) === String(slot) || feeds(plain.graph, it[0], slot))
          expect([id, title, plain.binding[name].filter((slot) => !isWritten(slot))]).toEqual([id, title, []])
        }
      }
  })
})
