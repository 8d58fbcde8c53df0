import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bindWorkflow, slotsOf } from '../../../../src/inference/comfyui/workflow/bind-workflow.js'
import { readWorkflow } from '../../../../src/inference/comfyui/workflow/read-workflow.js'
import { inputOf, nodeAt, WorkflowProblem, wiresOf } from '../../../../src/inference/comfyui/workflow/workflow-graph.js'
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

/** So many nodes, each with a wire to the one before. */
const chain = (length: number, first: unknown): GivenGraph =>
  Object.fromEntries(
    Array.from({ length }, (_, n) => [`c${n}`, node('ImageInvert', { image: n === 0 ? first : [`c${n - 1}`, 0] })]),
  )

/** One sentence: nothing but its end ends with a full stop, and it is one line. */
const isSentence = (text: string) => /^[^\n]+[^.]\.$/.test(text) && !/[^.]\. [A-Z]/.test(text)

describe('a file', () => {
  it.each<[string, string, RegExp]>([
    ['that is not JSON', 'KSampler', /is not JSON: .*"Export \(API\)"/],
    ['that is empty', '', /is not JSON/],
    ['without nodes', '{}', /has no nodes/],
    ['that is a list', '[1, 2]', /is not an object of nodes/],
    ['that is null', 'null', /is not an object of nodes/],
    [
      'of the editor',
      JSON.stringify({ nodes: [{ id: 3, type: 'KSampler' }], links: [], version: 0.4 }),
      /format of ComfyUI's editor.*"Export \(API\)"/,
    ],
    ['of the editor, wrapped', JSON.stringify({ prompt: { workflow: { nodes: [] } } }), /format of ComfyUI's editor/],
    ['with a value that is no node', JSON.stringify({ ...textToImage(), version: 1 }), /^Node version is not a node/],
    [
      'with a node without class_type',
      JSON.stringify({ ...textToImage(), '7': { inputs: {}, _meta: { title: 'Gone' } } }),
      /^Node 7, "Gone", has no class_type.*install the missing node/,
    ],
    [
      'with a node without inputs',
      JSON.stringify({ ...textToImage(), '7': { class_type: 'X' } }),
      /^Node 7 \(X\) has no inputs/,
    ],
    [
      'of more than 10 MB',
      JSON.stringify(textToImage({ '7': node('CLIPTextEncode', { text: 'x'.repeat(20_000_000) }) })),
      /more than 10 MB/,
    ],
    [
      'of 10,000 nodes',
      JSON.stringify({ ...textToImage(), ...chain(10_000, ['8', 0]) }),
      /has 10007 nodes, and at most 5000/,
    ],
    [
      'with a node of too many inputs',
      JSON.stringify({ '1': node('X', Object.fromEntries(Array.from({ length: 501 }, (_, n) => [`i${n}`, n]))) }),
      /^Node 1 \(X\) has 501 inputs, and at most 500/,
    ],
    ...[
      ['class_type', { '1': node('A'.repeat(100_000), {}) }],
      ['id', { ['A'.repeat(100_000)]: node('X', {}) }],
      ['name of an input', { '1': node('X', { ['A'.repeat(100_000)]: 1 }) }],
    ].map(([what, graph]): [string, string, RegExp] => [
      `with a ${what} that is far too long`,
      JSON.stringify(graph),
      new RegExp(`^Node \\S+ (\\(X\\) )?has a ${what} of more than 500 characters: shorten it`),
    ]),
    [
      'with a value that is nested too deeply',
      `{"1":{"class_type":"X","inputs":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}}`,
      /nested too deeply/,
    ],
    [
      'with characters that are not text',
      JSON.stringify(textToImage({ '7': node('CLIPTextEncode', { text: 'a\0b' }) })),
      /characters at text that are not text/,
    ],
    [
      'with an id that is not text',
      JSON.stringify({ '\ud800': node('X', {}) }),
      /an id with characters that are not text/,
    ],
  ])('%s is refused', (_, source, sentence) => {
    expect(refusal(source)).toMatch(sentence)
    expect(isSentence(refusal(source))).toBe(true)
  })

  it('is the same as it is and as a server takes it', () => {
    const graph = textToImage()
    expect(readWorkflow(`\ufeff${JSON.stringify({ prompt: graph, client_id: 'x' })}`)).toEqual(graph)
    expect(readWorkflow(JSON.stringify(graph))).toEqual(graph)
  })

  it.each<[string, (graph: object) => unknown]>([
    ['RunPod’s worker', (workflow) => ({ input: { workflow, images: [{ name: 'a.png', image: 'eA==' }] } })],
    ['a request with other fields', (prompt) => ({ id: 'x', prompt, webhook: 'https://x.example/' })],
    ['Replicate', (graph) => ({ input: { workflow_json: JSON.stringify(graph), output_format: 'png' } })],
    ['the editor’s own request', (output) => ({ output, workflow: { nodes: [], links: [] } })],
    ['the history', (graph) => ({ '1f0c': { prompt: [1, '1f0c', graph, {}, ['9']], outputs: {}, status: {} } })],
    ['a list of one', (graph) => [graph]],
    ['a text', (graph) => JSON.stringify(graph)],
  ])('is the same as %s has it', (_, wrapped) => {
    expect(readWorkflow(JSON.stringify(wrapped(textToImage())))).toEqual(textToImage())
  })

  it('may have a node with the id "prompt"', () => {
    expect(Object.keys(readWorkflow(JSON.stringify({ prompt: node('X', {}) })))).toEqual(['prompt'])
  })
})

const LOADED = { '30': node('LoadImage', { image: 'a.png' }) }
const saved = (wire: unknown, title?: string) => node('SaveImage', { filename_prefix: 'x', images: wire }, title)
const encoder = (text: unknown, title?: string) => node('CLIPTextEncode', { text, clip: ['4', 1] }, title)
const empty = (inputs: Record<string, unknown>) =>
  node('EmptyLatentImage', { width: 512, height: 512, batch_size: 1, ...inputs })
const second = { '40': sampler({ seed: 2 }), '41': node('VAEDecode', { samples: ['40', 0], vae: ['4', 2] }) }

describe('a workflow', () => {
  it.each<[string, GivenGraph, RegExp]>([
    [
      'that saves images of parallel branches',
      textToImage({ ...second, '42': saved(['41', 0], 'Other') }),
      /^The workflow saves several images: give one of "SaveImage" \(SaveImage, node 9\) and "Other" \(SaveImage, node 42\) the title "output"/,
    ],
    [
      'with two titles "output"',
      textToImage({ ...second, '9': saved(['8', 0], 'output'), '42': saved(['41', 0], 'output') }),
      /^Both .* have the title "output"/,
    ],
    [
      'that saves nothing',
      textToImage({ '9': node('Note', {}) }),
      /^The workflow saves no image: connect a Save Image node/,
    ],
    [
      'that saves a film',
      textToImage({ '9': node('SaveWEBM', { images: ['8', 0] }) }),
      /^The workflow saves no still image, and "SaveWEBM" \(SaveWEBM, node 9\) makes something else/,
    ],
    [
      'of several frames',
      textToImage({ '5': node('EmptyHunyuanLatentVideo', { width: 512, height: 512, length: 25, batch_size: 1 }) }),
      /makes several frames.*set its length to 1/,
    ],
    [
      'with a film made of a batch',
      textToImage({
        '3': sampler({ model: ['40', 0] }),
        '40': node('ADE_AnimateDiffLoaderWithContext', { model: ['4', 0] }),
      }),
      /makes several frames.*remove it/,
    ],
    [
      'with several latents',
      textToImage({
        '3': sampler({ latent_image: ['40', 0] }),
        '40': node('RepeatLatentBatch', { amount: 2, samples: ['5', 0] }),
      }),
      /"RepeatLatentBatch" .*set its amount to 1/,
    ],
    [
      'without a sampler',
      { '1': node('EmptyImage', { width: 8, height: 8, color: 0 }), '2': saved(['1', 0]) },
      /^The image .* comes from "EmptyImage" \(EmptyImage, node 1\), and no sampler is before it: save an image that a sampler/,
    ],
    [
      'without a sampler, of a service on the internet',
      { '1': node('OpenAIDalle3', { prompt: 'a cat', seed: 1, quality: 'hd' }), '2': saved(['1', 0], 'output') },
      /comes from "OpenAIDalle3" .* no sampler is before it/,
    ],
    [
      'whose image a service on the internet changes',
      textToImage({
        '9': saved(['50', 0]),
        '50': node('GeminiImage2Node', { prompt: 'add a hat', model: 'gemini', seed: 3, images: ['8', 0] }),
      }),
      /"GeminiImage2Node" .* can reach .* outside .*--allow-node 'GeminiImage2Node'/,
    ],
    [
      'that shows an image on the way to a film',
      textToImage({
        '9': node('PreviewImage', { images: ['8', 0] }, 'Shown'),
        '50': node('CreateVideo', { images: ['8', 0], fps: 8 }),
        '51': node('SaveVideo', { video: ['50', 0] }, 'Film'),
      }),
      /^The workflow makes more than an image, at "Film" \(SaveVideo, node 51\), .*give "Shown" \(PreviewImage, node 9\) the title "output"/,
    ],
    [
      'that saves an image and a model in 3D of it',
      textToImage({ '50': node('SaveGLB', { mesh: ['51', 0] }), '51': node('ImageToMesh', { image: ['8', 0] }) }),
      /^The workflow makes more than an image, at "SaveGLB"/,
    ],
    [
      'with two first samplers in one image',
      textToImage({
        ...second,
        '9': saved(['42', 0]),
        '42': node('ImageBlend', { image1: ['8', 0], image2: ['41', 0] }),
      }),
      /begins with several samplers: give one of "KSampler" \(KSampler, node 3\) and "KSampler" \(KSampler, node 40\) the title "sampler"/,
    ],
    [
      'whose two texts are one',
      textToImage({ '3': sampler({ negative: ['6', 0] }) }),
      /come from one text, "CLIPTextEncode" \(CLIPTextEncode, node 6\): give .* "prompt" and "negative"/,
    ],
    [
      'with a combined prompt',
      textToImage({
        '3': sampler({ positive: ['40', 0] }),
        '40': node('ConditioningCombine', { conditioning_1: ['6', 0], conditioning_2: ['41', 0] }),
        '41': encoder('a dog', 'Dog'),
      }),
      /prompt of .* is made of several parts: .*"Dog" \(CLIPTextEncode, node 41\).* the title "prompt"/,
    ],
    [
      'with a concatenated prompt',
      textToImage({
        '6': encoder(['40', 0]),
        '40': node('StringConcatenate', { string_a: 'a', string_b: 'b', delimiter: '' }, 'Join'),
      }),
      /made of several parts: put the text that is to be replaced into a node of its own, .* the title "prompt", connect it to "Join" \(StringConcatenate, node 40\), and/,
    ],
    [
      'with a trigger word before the prompt',
      textToImage({
        '6': encoder(['40', 0]),
        '40': node('StringConcatenate', { string_a: ['41', 0], string_b: ['42', 0], delimiter: ', ' }, 'Join'),
        '41': node('PrimitiveString', { value: 'pixel art' }, 'Trigger'),
        '42': node('PrimitiveString', { value: 'a cat' }, 'Text'),
      }),
      /give the node that holds the text, one of "Text" \(PrimitiveString, node 42\) and "Trigger" \(PrimitiveString, node 41\), the title "prompt"/,
    ],
    [
      'whose prompt is written by a model',
      textToImage({ '6': encoder(['40', 0]), '40': node('AskModel', { prompt: 'write', model: ['4', 0] }) }),
      /made of several parts/,
    ],
    [
      'with a string in place of a wire',
      textToImage({ '3': sampler({ positive: '6' }) }),
      /has "6" at positive, where a wire must be: connect/,
    ],
    [
      'with a list that is no wire',
      textToImage({ '3': sampler({ positive: [6, 0] }) }),
      /has \[6,0\] at positive, where a wire must be/,
    ],
    [
      'with no wire at the prompt',
      textToImage({ '3': sampler({ positive: 'none' }) }),
      /^No text reaches "KSampler" \(KSampler, node 3\).*the title "prompt"/,
    ],
    [
      'with a number of a node in place of a wire',
      textToImage({ '8': node('VAEDecode', { samples: ['3', 0], vae: 4 }) }),
      /"VAEDecode" .* has 4 at vae, where a wire must be/,
    ],
    [
      'with a wire whose output is text',
      textToImage({ '8': node('VAEDecode', { samples: ['3', 0], vae: ['4', '2'] }) }),
      /has \["4","2"\] at vae, where a wire must be/,
    ],
    [
      'with the title "prompt" at a node without a text',
      textToImage({ '5': node('EmptyLatentImage', { width: 512, height: 512, batch_size: 1 }, 'prompt') }),
      /^"prompt" \(EmptyLatentImage, node 5\) has the title "prompt", but not one text/,
    ],
    [
      'with the title "prompt" at a node with several texts',
      textToImage({
        '6': encoder(['40', 0]),
        '40': node('StringConcatenate', { string_a: 'a', string_b: 'b', delimiter: '' }, 'prompt'),
      }),
      /^"prompt" \(StringConcatenate, node 40\) .* not one text of its own: put the text into a node of its own/,
    ],
    [
      'with the title "prompt" at an encoder of a joined text',
      textToImage({
        '6': encoder(['40', 0], 'prompt'),
        '40': node('StringConcatenate', { string_a: ['41', 0], string_b: 'b', delimiter: '' }),
        '41': node('PrimitiveString', { value: 'a cat' }, 'Text'),
      }),
      /^"prompt" \(CLIPTextEncode, node 6\) .*: give that title to the node that holds the text, one of "StringConcatenate" \(StringConcatenate, node 40\) and "Text" \(PrimitiveString, node 41\), and/,
    ],
    [
      'with the title "seed" at a node without one',
      textToImage({ '5': node('EmptyLatentImage', { width: 512, height: 512, batch_size: 1 }, 'seed') }),
      /has the title "seed", but not one seed/,
    ],
    [
      'whose size comes from an image',
      textToImage({
        '3': sampler({ latent_image: ['40', 0] }),
        '40': node('VAEEncode', { pixels: ['41', 0], vae: ['4', 2] }),
        '41': node('EmptyImage', { width: 8, height: 8, color: 0 }),
      }),
      /"VAEEncode" \(VAEEncode, node 40\) takes the size from an image/,
    ],
    [
      'without a size',
      textToImage({ '5': node('LatentOfPack', { ratio: '1:1' }) }),
      /"LatentOfPack" .* has no width and height to set: .*the title "size"/,
    ],
    [
      'with the title "size" at a node without one',
      textToImage({ '5': node('LatentOfPack', { ratio: '1:1' }, 'size') }),
      /^"size" \(LatentOfPack, node 5\) has the title "size", but no width and height: give that title to a node/,
    ],
    [
      'whose size is chosen by its name',
      textToImage({
        '5': node('LatentOfPack', { resolution: '1024 x 1024 (1:1)', width: 512, height: 512, batch_size: 1 }),
      }),
      /^"LatentOfPack" .* chooses its size by its resolution, 1024 x 1024 \(1:1\): choose one that takes width and height/,
    ],
    [
      'whose later pass has a fixed size, but not the first',
      textToImage({
        '5': empty({ width: ['40', 0] }),
        '40': node('Math', { a: 1, b: 2 }),
        '9': saved(['41', 0]),
        '41': node('ImageScale', { width: 1024, height: 1024, image: ['8', 0] }),
      }),
      /"ImageScale" .* has a fixed size, but the size at the sampler is computed/,
    ],
    ['without a seed', customAdvanced({ '20': node('DisableNoise', {}) }), /has no seed/],
    [
      'with an image as input',
      textToImage({ ...LOADED, '8': node('Blend', { samples: ['3', 0], image: ['30', 0] }) }),
      /"LoadImage" \(LoadImage, node 30\) loads an image .* not supported yet/,
    ],
    [
      'with the title "mask"',
      textToImage({ '5': node('EmptyLatentImage', { width: 512, height: 512, batch_size: 1 }, 'mask') }),
      /has the title "mask", which is kept for images as input/,
    ],
    [
      'with a wire to a muted node',
      textToImage({ '8': node('VAEDecode', { samples: ['3', 0], vae: ['77', 0] }) }),
      /gets its vae from node 77, which is not in the file: unmute/,
    ],
    [
      'with a circle',
      textToImage({
        '4': node('LoraLoader', { model: ['40', 0], clip: ['40', 1] }),
        '40': node('LoraLoader', { model: ['4', 0], clip: ['4', 1] }),
      }),
      /"LoraLoader" \(LoraLoader, node \d+\) needs its own result/,
    ],
    [
      'with a circle far before the output',
      textToImage({
        ...chain(100, ['8', 0]),
        '8': node('VAEDecode', { samples: ['3', 0], vae: ['4', 2], more: ['8', 0] }),
        '9': saved(['c99', 0]),
      }),
      /^"VAEDecode" \(VAEDecode, node 8\) needs its own result/,
    ],
    [
      'with a node that needs itself',
      textToImage({ '4': node('LoraLoader', { model: ['4', 0] }) }),
      /"LoraLoader" \(LoraLoader, node 4\) needs its own result/,
    ],
    [
      'with a placeholder as file',
      textToImage({ '4': node('CheckpointLoaderSimple', { ckpt_name: '%model%' }) }),
      /has %model% at ckpt_name, which another program would replace/,
    ],
    ...['{model_name}', '{{model}}', '<CHECKPOINT>', 'PARAM_CHECKPOINT'].map((value): [string, GivenGraph, RegExp] => [
      `with ${value} as file`,
      textToImage({ '4': node('CheckpointLoaderSimple', { ckpt_name: value }) }),
      /at ckpt_name, which another program would replace/,
    ]),
    [
      'with a placeholder as denoise',
      textToImage({ '3': sampler({ denoise: '__RANDOM_INT__' }) }),
      /has __RANDOM_INT__ at denoise/,
    ],
    [
      'with a name of a file in another encoding',
      textToImage({ '4': node('CheckpointLoaderSimple', { ckpt_name: '\ufffd\ufffd.safetensors' }) }),
      /has lost characters at ckpt_name, because the file is not in UTF-8: save it/,
    ],
    [
      'with a huge number that stays',
      textToImage({ '4': node('Loader', { key: 18446744073709552000 }) }),
      /"Loader" \(Loader, node 4\) has a number at key that is too large/,
    ],
    ...(
      [
        'DownloadAndLoadModel',
        'ExecutePython',
        'LoadModelFromPath',
        'PythonEval',
        'HTTPLoader',
        'EvaluateInts',
        'ImageSaveMiddle',
      ] as const
    ).map((name): [string, GivenGraph, RegExp] => [
      `with ${name}`,
      textToImage({ '4': node(name, { a: 1 }) }),
      /can reach files or addresses .*--allow-node/,
    ]),
    ...(
      [
        { url: 'x' },
        { file_path: 'models/a' },
        { directory: ['6', 0] },
        { name: '/etc/passwd' },
        { name: '../../a.pt' },
        { name: 'C:\\a.pt' },
        { name: '\\\\host\\a' },
        { name: 'https://x.example/a' },
        { name: 'file:///a' },
      ] as const
    ).map((inputs): [string, GivenGraph, RegExp] => [
      `with ${JSON.stringify(inputs)}`,
      textToImage({ '4': node('Loader', inputs) }),
      /at (url|file_path|directory|name): remove it/,
    ]),
  ])('%s is refused', (_, graph, sentence) => {
    const said = refusal(graph)
    expect(said).toMatch(sentence)
    expect(isSentence(said)).toBe(true)
  })

  it('may make a film, too, once its image has the title "output"', () => {
    const graph = textToImage({ '9': saved(['8', 0], 'output'), '50': node('SaveWEBM', { images: ['8', 0] }) })
    expect(bound(graph).binding.output).toEqual(['8', 0])
    const apart = textToImage({ '50': node('SaveAudio', { audio: ['51', 0] }), '51': node('LoadAudio', {}) })
    expect(bound(apart).binding.output).toEqual(['8', 0])
  })

  it('that makes only a film names the node that saves it', () => {
    const film = textToImage({
      '2': node('VideoModelLoader', { name: 'a.safetensors' }),
      '9': node('SaveWEBM', { images: ['8', 0], model: ['2', 0] }),
    })
    expect(refusal(film)).toContain('"SaveWEBM" (SaveWEBM, node 9) makes something else')
  })

  it('may have all that on branches that the image does not need', () => {
    const unused = textToImage({
      ...{ ...LOADED, '31': node('VAEDecode', { samples: ['77', 0] }), '32': node('X', { a: ['33', 0], b: '%x%' }) },
      ...{ '33': node('LoadFromUrl', { url: 'https://x.example', a: ['32', 0], n: 2 ** 60 }) },
    })
    expect(bound(unused).binding.keep.sort()).toEqual(['3', '4', '5', '6', '7', '8'])
  })

  it('may have placeholders and huge numbers where values are written', () => {
    const { defaults, binding } = bound(
      textToImage({
        '3': sampler({
          seed: 18446744073709552000,
          steps: '%steps%',
          cfg: 'PARAM_CFG',
          sampler_name: '%sampler%',
          scheduler: '%scheduler%',
        }),
        '6': node('CLIPTextEncode', { text: '%prompt%', clip: ['4', 1] }),
      }),
    )
    expect(binding.sampler).toEqual([['3', 'sampler_name']])
    // Without guidance that text has no effect.
    const idle = textToImage({ '3': sampler({ cfg: 1 }), '7': encoder('%negative%') })
    expect(bound(idle).binding.negative).toEqual([])
    expect(defaults).not.toHaveProperty('steps')
    expect(defaults).not.toHaveProperty('cfgScale')
  })

  it('may choose a file of the server at an input that is called a path', () => {
    const loader = (model_path: string) => textToImage({ '4': node('NunchakuFluxDiTLoader', { model_path }) })
    expect(bound(loader('svdq-int4-flux.safetensors')).needs.files.map(({ file }) => file)).toContain(
      'svdq-int4-flux.safetensors',
    )
    for (const path of ['flux/../../a.safetensors', 'C:a\\b.safetensors', 'models/flux', 'https://x/a.safetensors'])
      expect(refusal(loader(path))).toContain("--allow-node 'NunchakuFluxDiTLoader'")
  })

  it('may say that its size is not chosen by name', () => {
    const loader = node('LatentOfPack', { resolution: 'width x height (custom)', width: 512, height: 512 })
    expect(bound(textToImage({ '5': loader })).binding.width).toEqual([['5', 'width']])
  })

  it('may look for what looks like a placeholder', () => {
    const replaced = node('StringReplace', { string: ['41', 0], find: '{prompt}', replace: ['42', 0] })
    const graph = textToImage({
      ...{ '6': encoder(['40', 0]), '40': replaced },
      ...{ '41': node('Text', { text: 'Say {prompt}' }), '42': node('Text', { text: 'a cat' }, 'prompt') },
    })
    expect(bound(graph).binding.prompt).toEqual([['42', 'text']])
  })

  it('with a hostile title is refused on one readable line', () => {
    const said = refusal(
      textToImage({
        '8': node(
          'VAEDecode',
          { samples: ['77', 0] },
          `<img src=x onerror=alert(1)>\n\u001b[2J\u202e${'x'.repeat(500)}`,
        ),
      }),
    )
    expect(said).toMatch(/^"<img src=x onerror=alert\(1\)> \\u001b\[2J\\u202ex+…" \(VAEDecode, node 8\) gets/)
    expect(said.length).toBeLessThan(250)
  })

  it('may call nodes and inputs __proto__ and constructor', () => {
    const source = JSON.stringify(textToImage()).replaceAll('"6"', '"__proto__"').replaceAll('"7"', '"constructor"')
    const { binding } = bindWorkflow(readWorkflow(source))
    expect([binding.prompt, binding.negative]).toEqual([[['__proto__', 'text']], [['constructor', 'text']]])
    expect(refusal('{"1":{"class_type":"SaveImage","inputs":{"images":["__proto__",0]}}}')).toContain(
      'gets its images from node __proto__, which is not in the file',
    )
    expect(({} as Record<string, unknown>).inputs).toBeUndefined()
  })

  it.each([
    ['switches', 'ComfySwitchNode', 'on_true', { switch: ['yes', 0], on_false: ['4', 0] }],
    ['reroutes', 'Reroute', 'model', {}],
  ])('behind thousands of %s is read as any other', (_, name, input, inputs) => {
    const row = Array.from({ length: 4_900 }, (_, n) => [
      `r${n}`,
      node(name, { ...inputs, [input]: n === 0 ? ['4', 0] : [`r${n - 1}`, 0] }),
    ])
    const graph = textToImage({
      ...Object.fromEntries(row),
      '3': sampler({ model: ['r4899', 0] }),
      yes: node('PrimitiveBoolean', { value: true }),
    })
    expect(bound(graph).defaults.steps).toBe(20)
  })

  it('with a size that is computed again and again is read as any other', () => {
    const sums = Array.from({ length: 4_000 }, (_, n) => [
      `c${n}`,
      node('ComfyMathExpression', {
        expression: 'a + a - a + b - b',
        'values.a': [`c${n - 1}`, 1],
        'values.b': [`c${n - 1}`, 1],
      }),
    ])
    const graph = {
      ...textToImage({ '5': empty({ width: ['c3999', 1], height: ['c3999', 1] }) }),
      ...Object.fromEntries(sums),
      'c-1': node('PrimitiveInt', { value: 512 }),
    }
    expect(bound(graph).defaults).toMatchObject({ width: 1024, height: 1024 })
  })

  it('with thousands of texts or titles is refused before each of them is followed', () => {
    const many = (make: (n: number) => [id: string, GivenGraph[string]]) =>
      Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => make(n)))
    const row = (title?: string) =>
      many((n) => {
        const string_a = n === 999 ? 'a cat' : [`c${n + 1}`, 0]
        return [`c${n}`, node('StringConcatenate', { string_a, string_b: '-', delimiter: '' }, title)]
      })
    const encoders = many((n) => [`e${n}`, encoder([`c${n}`, 0])])
    const joined = many((n) => {
      const conditioning_2 = [n === 999 ? 'e0' : `k${n + 1}`, 0]
      return [`k${n}`, node('ConditioningCombine', { conditioning_1: [`e${n}`, 0], conditioning_2 })]
    })
    const all = { '3': sampler({ positive: ['k0', 0] }), ...encoders, ...joined }
    expect(refusal(textToImage({ ...all, ...row() }))).toContain('comes from more than 200 texts: join some of them')
    expect(refusal(textToImage({ '6': encoder(['c0', 0]), ...row('prompt') }))).toBe(
      '1000 nodes have the title "prompt", and at most 50 may: leave it to the one that is meant, and export the workflow again.',
    )
  })

  it('of the most nodes is read as any other', () => {
    const long = { ...chain(4_990, ['8', 0]), '9': saved(['c4989', 0]) }
    expect(bound(textToImage(long)).binding.keep).toHaveLength(4_996)
  })
})

describe('whatever a file holds', () => {
  const inputs = [
    'positive',
    'negative',
    'model',
    'latent_image',
    'samples',
    'images',
    'image',
    'guider',
    'sigmas',
    'noise',
    'sampler',
    'conditioning',
    'text',
    'seed',
    'steps',
    'cfg',
    'width',
    'height',
    'start_at_step',
    'pipe',
    'vae',
    '__proto__',
    'batch_size',
    'sampler_name',
    'scheduler',
    'add_noise',
  ]
  const classes = [
    'KSampler',
    'SaveImage',
    'PreviewImage',
    'Reroute',
    'VAEDecode',
    'CLIPTextEncode',
    'ImageScale',
    'ConditioningZeroOut',
    'SplitSigmas',
    'Any Switch',
    'constructor',
  ]
  const titles = [
    'prompt',
    'negative',
    'seed',
    'size',
    'width',
    'height',
    'output',
    'sampler',
    'steps',
    'cfg',
    'easel: prompt',
    'x',
  ]
  const id = fc.constantFrom('1', '2', '3', '4', '5', '6', '7', '8', '9', '__proto__', 'toString')
  const value = fc.oneof(
    fc.tuple(id, fc.constantFrom(0, 1, 2)),
    fc.tuple(id, fc.constantFrom(0, 1)),
    fc.jsonValue(),
    fc.integer(),
    fc.string(),
    fc.constantFrom('%x%', 'disable'),
  )
  const entries = fc.array(fc.tuple(fc.constantFrom(...inputs), value), { maxLength: 10 })
  const anyNode = fc.record({
    class_type: fc.constantFrom(...classes),
    inputs: entries.map((it) => Object.fromEntries(it)),
    _meta: fc.record({ title: fc.constantFrom(...titles) }),
  })
  const changed = fc.array(fc.tuple(id, anyNode), { maxLength: 6 })
  const bases = [
    textToImage(),
    customAdvanced(),
    ...['e-hires-two-pass', 'n-primitives', 'o-base-refiner-advanced'].map((name) => JSON.parse(graphFile(name))),
  ]

  it('it is bound, or refused in a sentence', () => {
    let ofBound = 0
    const wired: boolean[] = []
    fc.assert(
      fc.property(fc.constantFrom(...bases), changed, (base, changes) => {
        const source = JSON.stringify(Object.fromEntries([...Object.entries(base), ...changes]))
        try {
          const { graph, binding } = bindWorkflow(readWorkflow(source))
          ofBound += 1
          // Nothing that is sent needs what is not, and what is written has a place there.
          const kept = new Set(binding.keep)
          for (const id of [binding.output[0], ...kept]) wired.push(kept.has(id) && nodeAt(graph, id) !== undefined)
          for (const id of kept) for (const [, [node]] of wiresOf(graph, id)) wired.push(kept.has(node))
          for (const [id, input] of slotsOf(binding))
            wired.push(kept.has(id) && inputOf(graph, id, input) !== undefined)
        } catch (error) {
          expect(error).toBeInstanceOf(WorkflowProblem)
        }
      }),
      { numRuns: 2_000 },
    )
    expect(ofBound).toBeGreaterThan(50)
    expect(wired).not.toContain(false)
  })

  it('any text is read, or refused in a sentence', () => {
    const texts = fc.oneof(
      fc.string(),
      fc.json(),
      fc.json().map((it) => `{"prompt":${it}}`),
    )
    fc.assert(
      fc.property(texts, (source) => {
        try {
          readWorkflow(source)
        } catch (error) {
          expect(error).toBeInstanceOf(WorkflowProblem)
        }
      }),
    )
  })
})
