import { z } from 'zod'
import type { IgnorableParameter, Range } from '../../../core/catalog/model-parameters.js'
import type { ModelVersion } from '../../../core/catalog/model-version.js'
import { type GenerationRequest, SIZE_STEP, samplerName } from '../../../core/generations/generation.js'
import { filledFor, requestFor } from '../../../core/generations/submit/requested.js'
import { askedOf, requestFields } from '../../../http/personal-api/generations/submit-schemas.js'
import { MAX_SIDE, MIN_SIDE, PERSONAL_LIMITS } from '../../../http/shared/generation-fields.js'
import { snakeCase } from '../../../lib/names.js'
import type { Texts } from '../../texts/texts.js'

const NOTHING_ASKED = askedOf(z.object(requestFields).parse({ prompt: 'anything' }))

type Words = Texts['playground']['facts']
type Own = Pick<ModelVersion, 'parameters'>
type Size = Pick<GenerationRequest, 'width' | 'height'>

/** What is drawn of a form whose fields are blank. */
export const ownOf = (model: Own | undefined) => filledFor(model?.parameters ?? null, NOTHING_ASKED)

/** What the form shows for a model; by the names of its fields. The page's script shows it when another model is chosen. */
export function factsOf(model: Priced, shapes: readonly Size[], words: Words) {
  const { negativePrompt, width, height, batchSize, steps, cfgScale, sampler } = ownOf(model)
  const { limits = {}, ignored = [], sizeMultiple = SIZE_STEP, scale = 1 } = model.parameters ?? {}
  const hint = (name: IgnorableParameter, own: string) =>
    ignored.includes(name) ? words.noEffect : words.byDefault(own)
  return {
    own: { negative_prompt: negativePrompt, width, height, batch_size: batchSize, steps, cfg_scale: cfgScale, sampler },
    limits: {
      width: sideOf(sizeMultiple, limits.width),
      height: sideOf(sizeMultiple, limits.height),
      batch_size: limits.batchSize ?? PERSONAL_LIMITS.batch_size,
      steps: limits.steps ?? PERSONAL_LIMITS.steps,
      cfg_scale: limits.cfgScale ?? PERSONAL_LIMITS.cfg_scale,
    },
    /** In place of what is blank. */
    hints: {
      negative_prompt:
        negativePrompt || ignored.includes('negativePrompt') ? hint('negativePrompt', negativePrompt) : words.avoid,
      steps: hint('steps', `${steps}`),
      cfg_scale: hint('cfgScale', `${cfgScale}`),
      sampler: hint('sampler', samplerName(sampler)),
    },
    ignored: ignored.map(snakeCase),
    sizes: shapes.filter((shape) => takes(model, shape)).map(({ width, height }) => `${width}x${height}`),
    note: noteOf(scale, ignored, words),
    price: {
      ...{ image: model.creditsPerImage, minimum: model.pricing?.minimum ?? 0 },
      ...{ megapixel: model.pricing?.creditsPerMegapixel ?? 0, step: model.pricing?.creditsPerStep ?? 0 },
    },
  }
}

/** For a field: its step counts from its least. */
const sideOf = (step: number, { min, max }: Range = { min: MIN_SIDE, max: MAX_SIDE }) => ({
  min: Math.ceil(min / step) * step,
  max: Math.floor(max / step) * step,
  step,
})

type Priced = Own & Pick<ModelVersion, 'modelName' | 'name' | 'creditsPerImage' | 'pricing'>

/** What is unusual about a model's images. */
function noteOf(scale: number, ignored: readonly IgnorableParameter[], words: Words): string {
  const said = [scale !== 1 && words.scaled(scale), ignored.length > 0 && words.ignored(ignored)]
  return said.filter(Boolean).join(' ')
}

function takes(model: Priced, { width, height }: Size): boolean {
  const { request, omitted } = NOTHING_ASKED
  const others = omitted.filter((name) => name !== 'width' && name !== 'height')
  try {
    requestFor(model, { request: { ...request, width, height }, omitted: others })
    return true
  } catch {
    return false
  }
}

/** Of a model of which nothing else is known. */
const UNKNOWN: Priced = { modelName: '', name: '', parameters: null, creditsPerImage: 1, pricing: null }

/** Those of most models, and where a model differs from them: a page may have hundreds. */
export function sharedFacts(shapes: readonly Size[], words: Words) {
  const usual = factsOf(UNKNOWN, shapes, words)
  const isUsual = (name: string, value: unknown) =>
    JSON.stringify(value) === JSON.stringify(usual[name as keyof typeof usual])
  const differing = (model: ModelVersion) =>
    Object.fromEntries(Object.entries(factsOf(model, shapes, words)).filter(([name, value]) => !isUsual(name, value)))
  return { usual, differing }
}
