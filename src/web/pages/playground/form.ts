import { z } from 'zod'
import type { IgnorableParameter } from '../../../core/catalog/model-parameters.js'
import type { ModelVersion } from '../../../core/catalog/model-version.js'
import { priceOf } from '../../../core/catalog/price.js'
import type { GenerationParameters } from '../../../core/generations/generation.js'
import { filledFor } from '../../../core/generations/submit/requested.js'
import type { IdeaBody } from '../../../core/up-next/up-next.js'
import { askedOf, requestFields } from '../../../http/personal-api/generations/submit-schemas.js'
import { ownOf } from './model-facts.js'

const text = z.string().catch('')

/** The form as it arrives: all of it text, and any of it wrong or missing. */
export const formBody = z.object({
  prompt: text,
  negative_prompt: text,
  model_version_id: text,
  /** Such as 832x1216; empty: the model's own; `custom`: what the next two say. */
  shape: text,
  /** Blank: the model's own. */
  width: text,
  height: text,
  batch_size: text,
  steps: text,
  cfg_scale: text,
  sampler: text,
  /** Empty: random. */
  seed: text,
})

export type Form = z.output<typeof formBody>

/** Of something of the account; anything else is like none. */
export const ownId = z.uuid().optional().catch(undefined)

/**
 * The form with what was pressed: `up-next` lines it up, `save-settings` asks for their name, `apply` fills it with `settings`.
 * `idea`: the ID of the one that is being edited.
 */
export const submitBody = formBody.extend({ to: text, idea: ownId, settings: ownId })

export interface Shape {
  readonly name: 'portrait' | 'square' | 'landscape' | 'tall' | 'wide'
  readonly width: number
  readonly height: number
}

/** About a megapixel each: the sizes that the models were made for. */
export const SHAPES: readonly Shape[] = [
  { name: 'portrait', width: 832, height: 1216 },
  { name: 'square', width: 1024, height: 1024 },
  { name: 'landscape', width: 1216, height: 832 },
  { name: 'tall', width: 768, height: 1344 },
  { name: 'wide', width: 1344, height: 768 },
]

/** As the form sends it. */
export const shapeValue = ({ width, height }: Pick<Shape, 'width' | 'height'>) => `${width}x${height}`

/** The shape whose size is in the fields beside it. */
export const CUSTOM = 'custom'

/** What the fields of a size of one's own hold: also one that was asked for as a shape and is none of ours. Else undefined. */
export function customSize({ shape, width, height }: Form): Pick<Form, 'width' | 'height'> | undefined {
  if (shape === CUSTOM) return { width, height }
  const [, wide, high] = /^(\d+)x(\d+)$/.exec(shape) ?? []
  return wide && high && !SHAPES.some((offered) => shapeValue(offered) === shape)
    ? { width: wide, height: high }
    : undefined
}

const sidesOf = (shape: string) => shape.split('x').map(Number)

/** What a blank form has. */
export const blankForm = (model: ModelVersion | undefined): Form => ({
  prompt: '',
  negative_prompt: '',
  model_version_id: model ? `${model.id}` : '',
  batch_size: `${ownOf(model).batchSize}`,
  ...MODELS_OWN,
  seed: '',
})

/** Blank: whichever model is chosen has its own. */
export const MODELS_OWN = { shape: '', width: '', height: '', steps: '', cfg_scale: '', sampler: '' } as const

/** A form that draws the same again, with a seed of its own. @param model of the drawing, if it is on offer */
export function formOf(
  drawing: GenerationParameters & { readonly modelVersionId: number; readonly batchSize?: number },
  model: ModelVersion | undefined,
): Form {
  const usual = ownOf(model)
  const ignored = model?.parameters?.ignored ?? []
  const own = (name: IgnorableParameter) =>
    drawing[name] === usual[name] || ignored.includes(name) ? '' : `${drawing[name]}`
  return {
    prompt: drawing.prompt,
    negative_prompt: own('negativePrompt'),
    model_version_id: `${drawing.modelVersionId}`,
    shape: shapeValue(drawing) === shapeValue(usual) ? '' : shapeValue(drawing),
    ...{ width: '', height: '' },
    batch_size: `${drawing.batchSize ?? usual.batchSize}`,
    steps: own('steps'),
    cfg_scale: own('cfgScale'),
    sampler: own('sampler'),
    seed: '',
  }
}

/** Forms send line breaks as CR LF. */
const unixLines = (value: string) => value.replace(/\r\n?/g, '\n')
/** Left out where the field is blank; what is no number is refused by its name. */
const number = (value: string) => (value.trim() === '' ? undefined : Number(value))

/** The body of POST /api/v1/generate that the form stands for; not checked yet. */
export function bodyOf(form: Form) {
  const sides = form.shape === CUSTOM ? [number(form.width), number(form.height)] : sidesOf(form.shape)
  const [width, height] = form.shape === '' ? [] : sides
  return {
    prompt: unixLines(form.prompt),
    negative_prompt: unixLines(form.negative_prompt) || undefined,
    model_version_id: number(form.model_version_id),
    width,
    height,
    batch_size: number(form.batch_size),
    steps: number(form.steps),
    cfg_scale: number(form.cfg_scale),
    sampler: form.sampler || undefined,
    seed: number(form.seed),
  }
}

/** In credits; null while a field that it depends on is wrong. */
export function costOf(form: Form, model: ModelVersion): number | null {
  const { width, height, batch_size, steps } = bodyOf(form)
  const asked = z.object(requestFields).safeParse({ prompt: 'anything', width, height, batch_size, steps })
  if (!asked.success) return null
  const drawn = filledFor(model.parameters, askedOf(asked.data))
  return priceOf(model, drawn)
}

/** The form that the body of an idea stands for. */
export function formOfBody(body: IdeaBody): Form {
  const of = (name: string) => (body[name] === undefined ? '' : `${body[name]}`)
  return {
    prompt: of('prompt'),
    negative_prompt: of('negative_prompt'),
    model_version_id: of('model_version_id'),
    // A size of one's own is a shape that is none of ours.
    shape: body.width === undefined ? '' : `${body.width}x${body.height}`,
    ...{ width: '', height: '' },
    batch_size: of('batch_size'),
    steps: of('steps'),
    cfg_scale: of('cfg_scale'),
    sampler: of('sampler'),
    seed: of('seed'),
  }
}
