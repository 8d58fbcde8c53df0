import { z } from 'zod'
import type { Sampler } from '../../core/generations/generation.js'
import type { InferenceRequest } from '../../core/generations/run/backend.js'
import { badOutput, failure } from '../backend-failure.js'
import { notTaken } from '../checkpoint-options.js'
import { drawingCall } from '../drawing-call.js'
import { drawnImage, fieldsOf } from '../drawn-image.js'
import { inertText } from '../inert-text.js'
import { listedFor } from '../listed-for.js'
import type { ServerSampler } from '../samplers.js'
import { type Asked, type Call, type Limits, type NeededModels, serverBackend } from '../server-backend.js'
import { createServerHttp, parseServerUrl, type ServerHttp } from '../server-http.js'
import { jsonReply } from '../server-reply.js'
import { DEFAULT_PATH, readDeclaration } from './declaration.js'
import { describedFields } from './described-fields.js'

/**
 * A server with OpenAI's image API: LocalAI, vLLM-Omni, SGLang and others. The API has no field for a sampler and
 * echoes no seed, so the operator vouches for the server: in the URL's query, and by not attaching one that ignores
 * `seed`. A server ignores the fields that it does not know: LocalAI takes the guidance from its own configuration.
 * Each image is a call of its own. A call reports no progress, and can only be stopped by closing its connection.
 */
export function createOpenAiBackend(url: string, options: Limits & NeededModels) {
  const address = parseServerUrl(url)
  const { samplers, models: declared, isPiped, ...bounds } = readDeclaration(address.query)
  const { base } = address
  const http = createServerHttp({ ...address, base: new URL(base).pathname === '/' ? base + DEFAULT_PATH : base })
  const root = createServerHttp({ ...address, base: base.replace(/\/v1$/, '') })
  const fieldsFor = listedFor((_, signal) => describedFields(root, signal))
  const backend = serverBackend({
    http,
    limits: options,
    async discover(signal, known: OpenAiServer | undefined, definitions): Promise<OpenAiServer> {
      const [models, fields] = await Promise.all([
        listModels(http, declared, signal),
        fieldsFor(definitions, known?.fields, signal),
      ])
      return { samplers, models, fields }
    },
    offers: ({ models }) => ({ models: models.flatMap(filenamesOf), ...bounds }),
    lacking: ({ fields }, wanted) =>
      notTaken(
        wanted,
        SENT.filter((name) => fields?.has(name)),
        { true_cfg_scale: UNDESCRIBED, flow_shift: UNDESCRIBED },
      ),
    modelOf: ({ models }, filename) =>
      models.includes(filename) ? filename : models.find((model) => filenamesOf(model).includes(filename)),
    runsOf: (seeds) => seeds.map((seed) => [seed]),
    infer: (asked, call) => infer(http, asked, call, options.timeoutMs, isPiped),
  })
  return {
    ...backend,
    close: async () => void (await Promise.all([backend.close(), root.close()])),
  }
}

interface OpenAiServer {
  readonly samplers: ReadonlyMap<Sampler, ServerSampler>
  readonly models: readonly string[]
  /** Of an image, as the server describes them; while models are needed that are drawn with options. */
  readonly fields: ReadonlySet<string> | undefined
}

/** The options that are fields of the same name. */
const SENT = ['true_cfg_scale', 'flow_shift'] as const
const UNDESCRIBED = 'its /openapi.json does not list it'

/** What the catalog may append to a model's name to make it a file name. */
const EXTENSIONS = ['.safetensors', '.gguf', '.ckpt', '.sft', '.pt', '.pth', '.bin']

/** The file names under which the catalog may have a model. */
const filenamesOf = (model: string): string[] => [model, ...EXTENSIONS.map((extension) => model + extension)]

/** The name that stable-diffusion.cpp's sd-server gives to whatever it has loaded. */
const SD_CPP_MODEL = 'sd-cpp-local'

const modelsReply = z.object({ data: z.array(z.object({ id: z.string().min(1) })) })

/** The declared models that the server lists, or all, by its names; also the health probe. @throws BackendError */
async function listModels(http: ServerHttp, declared: readonly string[], signal: AbortSignal) {
  const reply = await http.get('/models', signal)
  // Without a listing the declared models count.
  if (reply.status === 404 && declared.length > 0) return declared
  const listed = jsonReply(http.name, reply, modelsReply).data.map(({ id }) => id)
  if (listed.length > 0 && listed.every((id) => id === SD_CPP_MODEL))
    throw failure(
      'unusable',
      `${http.name} is stable-diffusion.cpp, which keeps no seed in this API: use its own, sdcpp+http://…`,
    )
  return declared.length > 0 ? declared.filter((id) => listed.includes(id)) : listed
}

const generationReply = z.object({
  data: z.array(z.object({ b64_json: z.string().nullish(), url: z.string().nullish() })),
  model: z.string().nullish(),
})

/**
 * Draws one image. The replies name no seed or sampler, but the image may: a wrong seed is refused, to detect a server
 * that ignores seeds.
 * @throws BackendError, or the signal's reason when it aborted
 */
async function infer(
  http: ServerHttp,
  asked: Asked<unknown>,
  { stop, drawn }: Call,
  timeoutMs: number,
  isPiped: boolean,
) {
  const { model, sampler } = asked
  const seed = asked.seeds[0] as number
  const request = withSafeTexts(asked.request, isPiped)
  const body = generationBody({ ...asked, request }, isPiped)
  const reply = await drawingCall(http, timeoutMs, '/images/generations', body, stop, (status) => {
    if (status === 200) drawn()
  })
  const { data, model: drawnBy } = jsonReply(http.name, reply, generationReply, request)
  if (drawnBy && drawnBy !== model)
    throw failure('model_missing', `${http.name} drew with "${drawnBy}" instead of "${model}"`)
  const bad = badOutput(http.name)
  const [image, ...others] = data
  if (!image || others.length > 0) throw bad(`sent ${data.length} images instead of 1`)
  const sent = image.b64_json || image.url
  if (!sent) throw bad('sent no image data')
  // A data URL is the image; any other is refused in words.
  const { bytes, infotext = '' } = await drawnImage(sent, request, bad)
  const drawnSeed = fieldsOf(infotext)('Seed')
  if (drawnSeed !== undefined && drawnSeed !== `${seed}`) throw bad(`drew the seed ${drawnSeed} instead of ${seed}`)
  // The sampler is what the operator has declared: the API has no field for it, nor for a version.
  return [{ bytes, seed, madeWith: { backend: 'openai', version: null, sampler: sampler.name, scheduler: null } }]
}

/**
 * The body for one image. Each server reads some of the names of what OpenAI's API does not have, and ignores the
 * others: `step` is LocalAI's, `num_inference_steps` and `guidance_scale` are vLLM-Omni's and SGLang's.
 */
const generationBody = ({ request, model, seeds, options }: Asked<unknown>, isPiped: boolean) => ({
  model,
  prompt: isPiped && request.negativePrompt ? `${request.prompt}|${request.negativePrompt}` : request.prompt,
  negative_prompt: request.negativePrompt,
  n: 1,
  size: `${request.width}x${request.height}`,
  response_format: 'b64_json',
  output_format: 'png',
  seed: seeds[0],
  steps: request.steps,
  step: request.steps,
  num_inference_steps: request.steps,
  cfg_scale: request.cfgScale,
  guidance_scale: request.cfgScale,
  ...options,
})

function withSafeTexts(request: InferenceRequest, isPiped: boolean): InferenceRequest {
  // A user's own | would end the prompt and turn its rest into the negative one.
  const safe = (text: string) => inertText(withoutExtraArgs(isPiped ? text.replaceAll('|', ',') : text))
  return { ...request, prompt: safe(request.prompt), negativePrompt: safe(request.negativePrompt) }
}

/**
 * Removes the tag whose JSON stable-diffusion.cpp's compatible APIs obey: a user could change size, count and seed.
 * Recursive, because what is left may form the tag again.
 */
function withoutExtraArgs(prompt: string): string {
  const withoutElements = prompt.replace(/<sd_cpp_extra_args>.*?<\/sd_cpp_extra_args>/gs, '')
  const without = withoutElements === prompt ? prompt.replace(/<\/?sd_cpp_extra_args>/g, '') : withoutElements
  return without === prompt ? prompt : withoutExtraArgs(without)
}
