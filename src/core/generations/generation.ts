import { randomBytes, randomInt } from 'node:crypto'
import type { ModelVersion } from '../catalog/model-version.js'
import { priceOf } from '../catalog/price.js'

export type GenerationStatus = 'queued' | 'processing' | 'succeeded' | 'failed'

/** Which interface a generation came through. Create Image goes first, within a bound: see queue-order.ts. */
export type Lane = 'personal' | 'create_image'

/** What an image is to look like, as a GPU server must know it. */
export interface GenerationParameters {
  readonly prompt: string
  readonly negativePrompt: string
  /** Pixels, multiples of 8. */
  readonly width: number
  readonly height: number
  readonly steps: number
  readonly cfgScale: number
  readonly sampler: Sampler
}

/** The names of these parameters; stores, answers and `easel jobs show` go by them. */
export const PARAMETER_NAMES = Object.keys({
  prompt: true,
  negativePrompt: true,
  width: true,
  height: true,
  steps: true,
  cfgScale: true,
  sampler: true,
} satisfies Record<keyof GenerationParameters, true>) as readonly (keyof GenerationParameters)[]

/** The parameters alone, without other fields. */
export const parametersOf = (it: GenerationParameters) =>
  Object.fromEntries(PARAMETER_NAMES.map((name) => [name, it[name]])) as unknown as GenerationParameters

/** What to draw, as either interface asks for it. */
export interface GenerationRequest extends GenerationParameters {
  readonly batchSize: number
  /** 0 to 2^32 - 1; undefined means random. */
  readonly seed: number | undefined
}

/** One generation: what was asked for, by whom, at what price. Its row in Postgres is the truth about it. */
export interface Generation extends Omit<GenerationRequest, 'seed'> {
  readonly id: string
  readonly accountId: string
  readonly keyId: string
  readonly lane: Lane
  /** Metered generations (developer keys) are counted instead of charged. */
  readonly metered: boolean
  readonly modelVersionId: number
  readonly modelName: string
  /** The model file. */
  readonly filename: string
  readonly cost: number
  /** The seed of the first image; image n uses (seed + n) mod 2^32. */
  readonly seed: number
  /** One per image, chosen at random at submit, so that a second attempt overwrites its own files. */
  readonly slugs: readonly string[]
  /** Notified of its end, besides its account's endpoints. */
  readonly webhookUrl?: string | undefined
  /** Of the HTTP request that submitted it; in every log line about it. */
  readonly requestId?: string | null | undefined
  /** The W3C trace context of its submit, where traces are on. */
  readonly traceparent?: string | null | undefined
}

/** As a store has it: what may be left out is null there. */
export type Stored<What> = { readonly [Name in keyof What]-?: Exclude<What[Name], undefined> }

/** What its submitter gets back. */
export interface SubmittedGeneration
  extends Pick<
    Generation,
    'id' | 'modelVersionId' | 'modelName' | 'cost' | 'seed' | 'slugs' | 'steps' | 'cfgScale' | 'width' | 'height'
  > {
  readonly createdAt: Date
}

/** What a poll sees. `slugs` are in batch order, without images that were removed. */
export interface GenerationView extends Pick<Generation, 'id' | 'lane' | 'seed' | 'slugs'> {
  readonly status: GenerationStatus
  /** Orders the queue; not a position by itself. */
  readonly seq: number
  readonly error: string | null
  readonly createdAt: Date
  readonly work: WorkOfModel
  /** When its first attempt began, by performance.now; undefined unless it runs. */
  readonly runningSince: number | undefined
}

/** How much there is to draw. */
export type Work = Pick<GenerationRequest, 'width' | 'height' | 'steps' | 'batchSize'>

export type WorkOfModel = Work & Pick<Generation, 'filename'>

const BASE32 = '0123456789abcdefghjkmnpqrstvwxyz'
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** The largest random seed: the last seed of a batch fits the int32 of some backends, too. */
const MAX_RANDOM_SEED = 2147483644
export const MAX_SEED = 4294967295
/** Sizes on offer are multiples of it, in pixels. */
export const SIZE_STEP = 8

export const GENERATION_ID = /^gen_[0-9a-hjkmnp-tv-z]{26}$/

const POOL_BYTES = 4096
let pool = Buffer.alloc(0)
let taken = 0

/** From a pool, since a call of `randomBytes` for each id takes eight times as long. */
function randomByte(): number {
  if (taken === pool.length) {
    pool = randomBytes(POOL_BYTES)
    taken = 0
  }
  return pool[taken++] as number
}

/** Random letters, each of the alphabet as likely as any other. */
function randomText(alphabet: string, length: number): string {
  // Bytes from here on are dropped: they would make the first letters more likely.
  const limit = 256 - (256 % alphabet.length)
  let text = ''
  while (text.length < length) {
    const byte = randomByte()
    if (byte < limit) text += alphabet[byte % alphabet.length]
  }
  return text
}

/** 130 random bits. */
export const newGenerationId = (): string => `gen_${randomText(BASE32, 26)}`

/** 131 random bits. */
export const newSlug = (): string => randomText(BASE62, 22)

/** Chooses the slugs and, unless asked for, the seed at random, and prices the request. */
export function newGeneration(
  id: string,
  request: GenerationRequest,
  model: ModelVersion,
  from: Pick<Generation, 'accountId' | 'keyId' | 'lane' | 'metered' | 'webhookUrl' | 'requestId'>,
): Generation {
  // Each by its name: with so many spread, V8's object has no hidden class, is larger and slower to read.
  return {
    id,
    accountId: from.accountId,
    keyId: from.keyId,
    lane: from.lane,
    metered: from.metered,
    modelVersionId: model.id,
    modelName: model.modelName,
    filename: model.filename,
    prompt: request.prompt,
    negativePrompt: request.negativePrompt,
    width: request.width,
    height: request.height,
    batchSize: request.batchSize,
    steps: request.steps,
    cfgScale: request.cfgScale,
    sampler: request.sampler,
    cost: from.metered ? 0 : priceOf(model, request),
    seed: request.seed ?? randomInt(MAX_RANDOM_SEED + 1),
    slugs: Array.from({ length: request.batchSize }, newSlug),
    webhookUrl: from.webhookUrl,
    requestId: from.requestId,
    // Requires the optional parameters, too: one not named here would be lost without an error.
  } satisfies Generation & Record<keyof GenerationParameters, unknown>
}

/** The seeds of all images of a batch. */
export const seedsOf = (seed: number, batchSize: number): number[] =>
  Array.from({ length: batchSize }, (_, n) => (seed + n) % (MAX_SEED + 1))

/**
 * The samplers of `POST /api/v1/generate`, in the order of the spec's table, each with its name and schedule in
 * AUTOMATIC1111's infotexts, which other tools read, too. "Automatic": the sampler's own schedule.
 */
export const INFOTEXT_SAMPLERS = {
  euler_a: ['Euler a', 'Uniform'],
  euler: ['Euler', 'Uniform'],
  dpmpp_2m_karras: ['DPM++ 2M', 'Karras'],
  dpmpp_2m_sde_karras: ['DPM++ 2M SDE', 'Karras'],
  dpmpp_2m: ['DPM++ 2M', 'Uniform'],
  dpmpp_sde: ['DPM++ SDE', 'Uniform'],
  dpmpp_sde_karras: ['DPM++ SDE', 'Karras'],
  ddim: ['DDIM', 'Automatic'],
  ddpm: ['DDPM', 'Automatic'],
  heun: ['Heun', 'Uniform'],
  lms: ['LMS', 'Uniform'],
  lms_karras: ['LMS', 'Karras'],
  dpm2: ['DPM2', 'Uniform'],
  dpm2_a: ['DPM2 a', 'Uniform'],
  unipc: ['UniPC', 'Automatic'],
  pndm: ['PLMS', 'Automatic'],
  deis: ['DEIS', 'Uniform'],
  dpm_sde_karras: ['DPM++ SDE', 'Karras'],
} as const satisfies Record<string, readonly [name: string, schedule: string]>

export type Sampler = keyof typeof INFOTEXT_SAMPLERS

/** As people read it. */
export function samplerName(sampler: Sampler): string {
  const [name, schedule] = INFOTEXT_SAMPLERS[sampler]
  return schedule === 'Karras' ? `${name} Karras` : name
}

export const SAMPLERS = Object.keys(INFOTEXT_SAMPLERS) as unknown as readonly [Sampler, ...Sampler[]]
