import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { drawImage } from '../a1111/images.js'
import { runAsProgram } from '../program.js'
import {
  authorizationFor,
  inferenceUrlOf,
  type StandInReply,
  type StandInRequest,
  type StandInServer,
  startStandInServer,
  type WireFault,
} from '../stand-in-server.js'

/** Each reads other fields of the same request, and ignores the rest. */
export type OpenAiDialect = 'localai' | 'vllm' | 'sdcpp'

export interface OpenAiStandInOptions {
  readonly port?: number
  readonly dialect?: OpenAiDialect
  /** The fields that its description of its API lists besides OpenAI's, as FastAPI writes one; without it there is none. */
  readonly describes?: readonly string[]
  /** What it lists. */
  readonly models?: readonly string[]
  /** `user:password`, or `:key`. */
  readonly auth?: string
}

/** Faults of a 200. */
type DrawnWrong = 'wrong_size' | 'no_image' | 'two_images' | 'url_only' | 'broken_image' | 'other_model'

export interface OpenAiSettings {
  fault: WireFault | DrawnWrong
  on: 'generations' | 'models'
  /** Whether an image that is begun stays undone, until this is false again. */
  held: boolean
}

export interface OpenAiStandIn extends StandInServer {
  /** As an entry of INFERENCE_URL, with its credentials: a path and a query come behind. */
  readonly inferenceUrl: (rest: string) => string
  /** The bodies of the calls for images. */
  readonly asked: () => Record<string, unknown>[]
  readonly set: (settings: Partial<OpenAiSettings>) => void
  readonly close: () => Promise<void>
}

/** A server that speaks OpenAI's image API as LocalAI, vLLM-Omni or sd-server do, draws noise, and fails on request. */
export async function startOpenAiStandIn(options: OpenAiStandInOptions = {}): Promise<OpenAiStandIn> {
  const { auth, dialect = 'vllm' } = options
  const models = options.models ?? [dialect === 'sdcpp' ? 'sd-cpp-local' : 'ponyDiffusionV6XL']
  const settings: OpenAiSettings = { fault: 'none', on: 'generations', held: false }
  const set = (changes: Partial<OpenAiSettings>) => void Object.assign(settings, changes)

  function faultOf({ path }: StandInRequest): WireFault {
    const { fault, on } = settings
    return isOfTheWire(fault) && path.endsWith(on) ? fault : 'none'
  }

  async function answer({ method, path, body }: StandInRequest): Promise<StandInReply> {
    if (`${method} ${path}` === 'GET /v1/models')
      return { status: 200, body: { object: 'list', data: models.map((id) => ({ id, object: 'model' })) } }
    if (`${method} ${path}` === 'GET /openapi.json' && options.describes)
      return { status: 200, body: descriptionOf(options.describes) }
    if (`${method} ${path}` !== 'POST /v1/images/generations') return { status: 404, body: { detail: 'Not Found' } }
    if (!body?.prompt) return { status: 400, body: { error: 'prompt required' } }
    if (dialect !== 'sdcpp' && !models.includes(String(body.model)))
      return openAiError(404, `The model \`${body.model}\` does not exist.`, 'NotFoundError')
    while (settings.held) await delay(5)
    return { status: 200, body: await draw(body, dialect, settings.fault) }
  }

  const server = await startStandInServer({
    ...(options.port !== undefined && { port: options.port }),
    authorization: auth && authorizationFor(auth),
    unauthorized: openAiError(401, 'Incorrect API key provided.', 'invalid_request_error'),
    faultOf,
    answer,
    set,
  })
  return {
    ...server,
    inferenceUrl: (rest) => inferenceUrlOf('openai', server.url, auth, rest),
    asked: () =>
      server.journal.flatMap(({ path, body }) => (path.endsWith('/images/generations') && body ? [body] : [])),
    set,
    close: async () => {
      settings.held = false
      await server.refuse()
    },
  }
}

const descriptionOf = (fields: readonly string[]) => ({
  openapi: '3.1.0',
  paths: {
    '/v1/models': { get: {} },
    '/v1/images/generations': {
      post: {
        requestBody: {
          content: { 'application/json': { schema: { $ref: '#/components/schemas/ImageGenerationRequest' } } },
        },
      },
    },
  },
  components: {
    schemas: {
      HTTPValidationError: { properties: {} },
      ImageGenerationRequest: { properties: Object.fromEntries(['prompt', 'size', ...fields].map((it) => [it, {}])) },
    },
  },
})

const openAiError = (status: number, message: string, type: string): StandInReply => ({
  status,
  body: { error: { message, type, param: null, code: status } },
})

const isOfTheWire = (fault: OpenAiSettings['fault']): fault is WireFault =>
  typeof fault === 'object' || ['none', 'hang', 'drop', 'drop_mid_reply', 'garbage'].includes(fault)

/** What each kind of server makes of a request's fields. */
const READ: Record<OpenAiDialect, (body: Record<string, unknown>) => Record<string, unknown>> = {
  localai: ({ prompt, model, seed, step }) => {
    const [positive, negative = ''] = String(prompt).split('|')
    return { prompt: positive, negative, model, seed: Number(seed) | 0, steps: step }
  },
  vllm: ({
    prompt,
    model,
    negative_prompt,
    seed,
    num_inference_steps,
    guidance_scale,
    true_cfg_scale,
    flow_shift,
  }) => ({
    ...{ prompt, model, negative: negative_prompt, seed, steps: num_inference_steps, cfg: guidance_scale },
    ...{ true_cfg_scale, flow_shift },
  }),
  sdcpp: ({ prompt }) => ({ prompt, seed: 42 }),
}

async function draw(body: Record<string, unknown>, dialect: OpenAiDialect, fault: OpenAiSettings['fault']) {
  const [width = 512, height = 512] = String(body.size).split('x').map(Number)
  const read = READ[dialect](body)
  const images = await Promise.all(
    Array.from({ length: Number(body.n ?? 1) }, async (_, n) => {
      const png = await drawImage({
        width: width + (fault === 'wrong_size' ? 8 : 0),
        height,
        look: 'finished',
        key: JSON.stringify([read, n, width, height]),
        parameters: dialect === 'sdcpp' ? `${read.prompt}\nSteps: 20, Seed: ${read.seed}, Sampler: euler_a` : '',
      })
      const bytes = fault === 'broken_image' ? Buffer.from('not an image') : png
      if (fault === 'url_only') return { url: 'http://127.0.0.1:1/generated-images/b64.png' }
      return { b64_json: bytes.toString('base64'), revised_prompt: body.prompt }
    }),
  )
  const data = fault === 'no_image' ? [] : fault === 'two_images' ? [...images, ...images] : images
  return {
    created: Math.floor(Date.now() / 1000),
    data,
    ...(dialect === 'localai' && { id: createHash('md5').update(JSON.stringify(read)).digest('hex'), usage: {} }),
    ...(fault === 'other_model' && { model: 'other' }),
  }
}

await runAsProgram(import.meta.url, ({ as, ...options }) =>
  startOpenAiStandIn({ ...options, ...(as && { dialect: as as OpenAiDialect }) }),
)
