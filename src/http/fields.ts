/** The fields of bodies that both interfaces share. Every message names its field and says what it should be. */
import { z } from 'zod'
import { MAX_SEED, SIZE_STEP } from '../generation/generation.js'

export const MAX_PROMPT_LENGTH = 2000
export const MIN_SIDE = 256
export const MAX_SIDE = 2048
export const MAX_PIXELS = 2048 * 1536
/** The seed that means a random one. */
export const RANDOM_SEED = -1

/** A field that may be absent or null, and has this value then. */
export const withDefault = <T extends z.ZodType>(field: T, fallback: z.output<T>) =>
  field
    .nullish()
    .meta({ default: fallback })
    .transform((value): z.output<T> => value ?? fallback)

const textField = (name: string) =>
  z
    .string({
      error: ({ input }) =>
        input === undefined || input === null
          ? `${name} is required and must be a string.`
          : `${name} must be a string.`,
    })
    .refine(
      (value) => value.isWellFormed() && !value.includes('\0'),
      `${name} must be valid Unicode text without NUL characters.`,
    )
    .refine(
      // Code points, not UTF-16 units: an emoji is one character.
      (value) => value.length <= MAX_PROMPT_LENGTH || [...value].length <= MAX_PROMPT_LENGTH,
      `${name} must be at most ${MAX_PROMPT_LENGTH} characters.`,
    )

const promptMeta = { maxLength: MAX_PROMPT_LENGTH }
export const promptField = textField('prompt')
  .refine((value) => value.trim() !== '', 'prompt is required and must not be blank.')
  .meta({ ...promptMeta, minLength: 1, description: 'What to draw' })
export const negativePromptField = textField('negative_prompt').meta({ ...promptMeta, description: 'What to avoid' })

export const integer = (name: string, min: number, max: number) =>
  number(name, min, max, 'an integer')
    .refine(Number.isInteger, `${name} must be an integer from ${min} to ${max}.`)
    .meta({ type: 'integer' })

export const number = (name: string, min: number, max: number, kind = 'a number') => {
  const message = `${name} must be ${kind} from ${min} to ${max}.`
  return z.number(message).min(min, message).max(max, message)
}

export const side = (name: string) =>
  integer(name, MIN_SIDE, MAX_SIDE)
    .multipleOf(SIZE_STEP, `${name} must be a multiple of ${SIZE_STEP}.`)
    .meta({ type: 'integer', description: `Pixels; width × height is at most ${MAX_PIXELS}` })

const SEED_ISSUE = `seed must be an integer from 0 to ${MAX_SEED}, or ${RANDOM_SEED} for a random one.`

/** -1 means random, and so does leaving it out. */
export const seedField = z
  .number(SEED_ISSUE)
  .refine((value) => Number.isInteger(value) && value >= RANDOM_SEED && value <= MAX_SEED, SEED_ISSUE)
  .meta({
    ...{ type: 'integer', minimum: RANDOM_SEED, maximum: MAX_SEED },
    description: `${RANDOM_SEED} means random; image n uses seed + n`,
  })
  .nullish()
  .meta({ default: RANDOM_SEED })
  .transform((value) => (value === undefined || value === null || value === RANDOM_SEED ? undefined : value))

export const choice = <const T extends readonly [string, ...string[]]>(name: string, values: T) =>
  z.enum(values, `${name} must be one of: ${values.join(', ')}.`)

export const fitsCanvas = ({ width, height }: { width: number; height: number }): boolean =>
  width * height <= MAX_PIXELS
export const CANVAS_ISSUE = {
  path: ['width'],
  message: `width × height must be at most ${MAX_PIXELS} pixels (such as 2048 × 1536).`,
}

/** For a body that is not a JSON object. */
export const NOT_AN_OBJECT = 'The request body must be a JSON object.'
