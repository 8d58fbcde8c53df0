/** The body of OpenAI's images.generate, as far as it can be honoured, and this scope's own fields beside it. */
import { z } from 'zod'
import type { GenerationRequest } from '../../generation/generation.js'
import { CANVAS_ISSUE, choice, fitsCanvas, integer, NOT_AN_OBJECT, optional, side } from '../fields.js'
import { DEFAULTS, drawingFields, requestOf } from './schemas.js'

export interface OpenAiBody {
  /** A Create Image model's ID, or a model version's as a string. */
  readonly model: string
  readonly request: GenerationRequest
  readonly format: 'url' | 'b64_json'
  /** Fields that were sent and change nothing. */
  readonly ignored: readonly string[]
}

const AUTO = 'auto'
const AUTO_SIZE = { width: 1024, height: 1024 }
const SIZE_FORM = `size must be "${AUTO}" or <width>x<height> such as 1024x1024.`

const sides = z.object({ width: side("size's width"), height: side("size's height") }).refine(fitsCanvas, CANVAS_ISSUE)

const size = z.string(SIZE_FORM).transform((text, context) => {
  if (text === AUTO) return AUTO_SIZE
  const [, width, height] = /^(\d{1,5})x(\d{1,5})$/.exec(text) ?? []
  const parsed = width === undefined ? undefined : sides.safeParse({ width: Number(width), height: Number(height) })
  if (parsed?.success) return parsed.data
  context.addIssue({ code: 'custom', message: parsed?.error.issues[0]?.message ?? SIZE_FORM })
  return z.NEVER
})

const MODEL_FORM = 'model must be the ID of a model: GET /v1/models lists them.'

/** A field of OpenAI's that may only ask for what happens anyway. */
const only = (name: string, values: readonly [string, ...string[]]) => choice(name, values).nullish()

/** Fields of OpenAI's that change nothing here, and whose absence nobody would see in the picture. */
const harmless = {
  user: z.string('user must be a string.').nullish(),
  quality: z.string('quality must be a string.').nullish(),
  style: z.string('style must be a string.').nullish(),
  moderation: z.string('moderation must be a string.').nullish(),
  output_compression: z.number('output_compression must be a number.').nullish(),
}

export const openAiBody = z
  .strictObject(
    {
      ...drawingFields,
      ...harmless,
      model: optional(z.string(MODEL_FORM).min(1, MODEL_FORM).max(100, MODEL_FORM), DEFAULTS.model),
      n: optional(integer('n', 1, 4), 1),
      size: size
        .nullish()
        .meta({ default: AUTO })
        .transform((value) => value ?? AUTO_SIZE),
      response_format: optional(choice('response_format', ['url', 'b64_json']), 'url'),
      background: only('background', ['auto', 'opaque']),
      output_format: only('output_format', ['png']),
      stream: z.literal(false, 'stream must be false: this server answers when all pictures are stored.').nullish(),
      partial_images: z.literal(0, 'partial_images must be 0: this server sends none.').nullish(),
    },
    NOT_AN_OBJECT,
  )
  .transform(
    (body): OpenAiBody => ({
      model: body.model,
      request: requestOf(body, { ...body.size, batchSize: body.n }),
      format: body.response_format,
      ignored: Object.keys(harmless).filter((name) => (body[name as keyof typeof harmless] ?? null) !== null),
    }),
  )
