/** What both interfaces take of a drawing, and what answers show of it. */
import { z } from 'zod'
import type { OptionalParameters } from '../../core/catalog/model-parameters.js'
import { MAX_SEED, SAMPLERS, SIZE_STEP } from '../../core/generations/generation.js'
import { MAX_PIXELS } from '../../core/generations/submit/requested.js'
import { camelCase } from '../../lib/names.js'
import { isBlank } from '../../lib/text.js'
import * as field from './fields.js'
import { EXAMPLE } from './responses.js'

export const MAX_PROMPT_LENGTH = 2000
export const MIN_SIDE = 256
export const MAX_SIDE = 2048
export const DEFAULT_SIZE = { width: 832, height: 1216 } as const
/** The seed that means a random one. */
export const RANDOM_SEED = -1

/** The bounds that both interfaces share. */
export const SHARED_LIMITS = { batch_size: { min: 1, max: 4 } } as const
/** The bounds of the Personal Access API. */
export const PERSONAL_LIMITS = {
  ...SHARED_LIMITS,
  steps: { min: 1, max: 100 },
  cfg_scale: { min: 0, max: 30 },
} as const
/** Those of Create Image, where they are narrower. */
export const CREATE_IMAGE_LIMITS = { steps: { min: 20, max: 50 }, cfg_scale: { min: 1, max: 20 } } as const

const promptText = (name: string) =>
  z
    .string(field.required(`${name} is required and must be a string.`, `${name} must be a string.`))
    .refine(...field.validText(name))
    .refine(
      // Code points, not UTF-16 units: an emoji is one character.
      (value) => value.length <= MAX_PROMPT_LENGTH || [...value].length <= MAX_PROMPT_LENGTH,
      `${name} must be at most ${MAX_PROMPT_LENGTH} characters.`,
    )
    .meta({ maxLength: MAX_PROMPT_LENGTH })

/** The parameters that every shape of a request takes alike. */
export const fields = {
  prompt: promptText('prompt')
    .refine((value) => !isBlank(value), 'prompt is required and must not be blank.')
    .meta({ minLength: 1, description: 'What to draw' }),
  negative_prompt: field
    .omittable(promptText('negative_prompt').describe('What to avoid'), '')
    .transform((value) => (value !== undefined && isBlank(value) ? '' : value)),
}

export const side = (name: string) =>
  field
    .integer(name, { min: MIN_SIDE, max: MAX_SIDE })
    .multipleOf(SIZE_STEP, `${name} must be a multiple of ${SIZE_STEP}.`)
    .meta({ type: 'integer', description: `Pixels; width × height is at most ${MAX_PIXELS}` })

export const size = {
  width: field.omittable(side('width'), DEFAULT_SIZE.width),
  height: field.omittable(side('height'), DEFAULT_SIZE.height),
}

/** A check of both sides, and its issue. */
export const fitsCanvas: [
  (size: { width?: number | undefined; height?: number | undefined }) => boolean,
  { path: string[]; message: string },
] = [
  ({ width = DEFAULT_SIZE.width, height = DEFAULT_SIZE.height }) => width * height <= MAX_PIXELS,
  { path: ['width'], message: `width × height must be at most ${MAX_PIXELS} pixels (such as 2048 × 1536).` },
]

const SEED_ISSUE = `seed must be an integer from 0 to ${MAX_SEED}, or ${RANDOM_SEED} for a random one.`

/** -1 means random, and so does leaving it out. */
export const seed = field
  .integer('seed', { min: RANDOM_SEED, max: MAX_SEED }, SEED_ISSUE)
  .describe(`${RANDOM_SEED} means random; image n uses seed + n`)
  .nullish()
  .meta({ default: RANDOM_SEED })
  .transform((value) => (value === null || value === RANDOM_SEED ? undefined : value))

/** A body with the interface's defaults for what it leaves out, and the names of that, as the core has them. */
export function completed<Body extends object, Defaults extends Partial<Record<keyof Body, unknown>>>(
  shape: Readonly<Record<keyof Body, z.ZodType>>,
  body: Body,
  defaults: Defaults,
) {
  const omitted = Object.keys(shape).filter((name) => name in defaults && body[name as keyof Body] === undefined)
  const complete = { ...body, ...Object.fromEntries(omitted.map((name) => [name, defaults[name as keyof Body]])) }
  return {
    body: complete as { [Name in keyof Body]: Name extends keyof Defaults ? NonNullable<Body[Name]> : Body[Name] },
    omitted: omitted.map(camelCase) as (keyof OptionalParameters)[],
  }
}

/** Those of a generation's parameters that have a default, as answers show them. */
export const settings = {
  negative_prompt: z.string(),
  width: z.int(),
  height: z.int(),
  batch_size: z.int(),
  steps: z.int(),
  cfg_scale: z.number(),
  sampler: z.enum(SAMPLERS),
}

/** All that was drawn from, as answers show it. */
export const shown = { prompt: z.string().describe('Empty once it is no longer kept'), ...settings }

/** An example of it. */
export const EXAMPLE_SHOWN = {
  ...{ prompt: EXAMPLE.prompt, negative_prompt: '', ...DEFAULT_SIZE, batch_size: 1 },
  ...{ steps: 30, cfg_scale: 7, sampler: 'euler_a' },
} as const
