import { expect, it } from 'vitest'
import { onlyDraws } from '../../../../src/inference/comfyui/workflow/node-lists.js'
import { bound, customAdvanced, node, refusal, sampler, textToImage } from './given-graphs.js'

/** Of node packs that fetch, read or write files, or run code; many of their names say nothing of it. */
const REACHING = `
  IDENode|AnyNode|SRL Eval|Terminal|PythonExecutor|PyCode|LoadText|pysssss|SaveText|pysssss|PlaySound|pysssss
  CR Load Text List|CR Output Schedule To File|CLIPTextEncode (NSP)|Load Text File|Image Save
  Text Load Line From File|BLIP Model Loader|CLIPSeg Model Loader|ImpactHFTransformersClassifierProvider|PreviewBridge
  ImageReceiver|LatentSender|Superprompt|DownloadAndLoadCLIPSeg|SaveStringKJ|VisualizeCUDAMemoryHistory|ScreencapStream
  WebcamCaptureCV2|ETN_SendImageWebSocket|LoraLoaderFromURL|HFHubLoraLoader
  Curl2|Http2Image|Rest4All|S3Upload|Ftp1|SmtpSend|Hook7|Ollama8|LLM3|GPT4V|Wget1|Get|Post|Fetch9|Remote|Power Puter (rgthree)
  NunchakuWheelInstaller|NunchakuModelMerger|SaveLatent|CheckpointSave|LoadLatent|GLSLShader|TerminalLog|KSampler2|ksampler
`
  .split(/[|\n]/)
  .map((name) => name.trim())
  .filter((name) => name !== '' && name !== 'pysssss')

it('every class that is on no list needs to be allowed, whatever it is called', () => {
  for (const name of REACHING) {
    const graph = textToImage({ '3': sampler({ model: ['40', 0] }), '40': node(name, { model: ['4', 0] }) })
    expect(refusal(graph)).toContain(`--allow-node '${name}'`)
    expect(bound(graph, { allowNodes: [name] }).binding.prompt).toEqual([['6', 'text']])
  }
  expect(REACHING.length).toBeGreaterThan(50)
})

it('a class of ComfyUI that had a blank at the end of its name is known with it', () => {
  const average = node('ConditioningAverage ', { conditioning_to: ['6', 0], conditioning_from: ['7', 0] })
  const graph = textToImage({
    '3': sampler({ positive: ['40', 0] }),
    '40': average,
    '7': node('CLIPTextEncode', { text: 'a cat', clip: ['4', 1] }),
  })
  expect(refusal(graph)).not.toContain('--allow-node')
})

it('all of them are named at once', () => {
  const graph = textToImage({
    '3': sampler({ model: ['40', 0] }),
    '40': node('Ollama8', { model: ['41', 0] }),
    '41': node('Curl2', { model: ['4', 0] }),
  })
  expect(refusal(graph)).toBe(
    "Easel does not know that \"Ollama8\" (Ollama8, node 40) and \"Curl2\" (Curl2, node 41) only draw: they can reach files or addresses outside the server's models, or run code, so remove them, or allow them with --allow-node 'Ollama8' 'Curl2' if you trust them.",
  )
})

it('what ComfyUI itself draws with is known, and so is much of what the known packs have', () => {
  expect(bound(customAdvanced(), { allowNodes: [] }).binding.prompt).toEqual([['6', 'text']])
  for (const name of ['KSampler', 'Power Lora Loader (rgthree)', 'UnetLoaderGGUF', 'FaceDetailer', 'PreviewImage'])
    expect([name, onlyDraws(name)]).toEqual([name, true])
  for (const name of [
    'SaveImage',
    'LoadImage',
    'KlingVideoNode',
    'OpenAIDalle3',
    'IdeogramV3',
    'toString',
    '__proto__',
    '',
  ])
    expect([name, onlyDraws(name)]).toEqual([name, false])
})

it.each<Record<string, unknown>>([
  { lora_1: { on: true, lora: '../../../etc/passwd', strength: 1 } },
  { loras: [{ name: 'a', from: { url: 'http://10.0.0.1/a' } }] },
  { loras: { __value__: ['file:///etc/passwd'] } },
  { x: { path: 'models/a' } },
  { x: [['//host/share']] },
  { a: '//host/share' },
  { a: '$HOME/.ssh' },
  { a: '%APPDATA%\\x' },
  { a: 'data:text/plain;base64,eA==' },
])('a known node has no address and no path in %j', (inputs) => {
  const graph = textToImage({
    '3': sampler({ model: ['40', 0] }),
    '40': node('Power Lora Loader (rgthree)', { model: ['4', 0], ...inputs }),
  })
  expect(refusal(graph)).toMatch(/can reach files or addresses outside the server's models at \w+: remove it/)
})
