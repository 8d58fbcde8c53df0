import { snakeCase } from '../../../lib/names.js'
import type {
  IgnorableParameter,
  LimitedParameter,
  ModelParameters,
  OptionalParameters,
  Range,
} from '../../catalog/model-parameters.js'
import type { ModelVersion } from '../../catalog/model-version.js'
import { invalidParameter } from '../../errors.js'
import { type GenerationRequest, SIZE_STEP } from '../generation.js'

/** What a client asks for. A model version may have defaults and limits of its own, so it is complete only with one. */
export interface AskedRequest {
  /** With the interface's defaults for what the client left out. */
  readonly request: GenerationRequest
  readonly omitted: readonly (keyof OptionalParameters)[]
  /** Of the interface: a model's defaults are moved into them. */
  readonly interfaceLimits?: ModelParameters['limits']
}

/** The most pixels that are asked for. */
export const MAX_PIXELS = 2048 * 1536
/** The most that an image has which a model has enlarged. */
export const MAX_IMAGE_PIXELS = 2 ** 24

/** The most pixels that are asked for of this model. */
export const maxPixelsOf = ({ scale = 1 }: ModelParameters): number =>
  Math.min(MAX_PIXELS, Math.floor(MAX_IMAGE_PIXELS / scale ** 2))

/**
 * The parameters that this model draws with: its own for what the client left out, moved into the limits, and for what
 * has no effect. What the client sent may be outside the limits.
 */
export function filledFor(
  parameters: ModelParameters | null,
  { request, omitted, interfaceLimits = {} }: AskedRequest,
): GenerationRequest {
  if (!parameters) return request
  const { defaults = {}, limits = {}, ignored = [] } = parameters
  const usual = (key: keyof OptionalParameters) => defaults[key] ?? request[key]
  const filled = omitted.map((key) => [
    key,
    multiple(parameters, key, within(limits, key, within(interfaceLimits, key, usual(key)))),
  ])
  // Nothing is avoided where a negative prompt has no effect, whatever was sent.
  const fixed = ignored.map((key) => [key, key === 'negativePrompt' ? (defaults[key] ?? '') : usual(key)])
  return { ...request, ...Object.fromEntries([...filled, ...fixed]) }
}

/**
 * The same within the model's limits, and the names of the parameters that the client sent in vain.
 * @throws invalid_request for a parameter outside the model's limits, which its sentence names
 */
export function requestFor(
  { parameters, modelName, name }: Pick<ModelVersion, 'parameters' | 'modelName' | 'name'>,
  asked: AskedRequest,
): { readonly request: GenerationRequest; readonly ignored: readonly IgnorableParameter[] } {
  const { request, omitted } = asked
  if (!parameters) return { request, ignored: [] }
  const { limits = {}, ignored = [], sizeMultiple } = parameters
  const complete = filledFor(parameters, asked)
  const wrong = (['width', 'height'] as const).find((key) => multiple(parameters, key, complete[key]) !== complete[key])
  if (wrong) throw invalidParameter(wrong, `${wrong} must be a multiple of ${sizeMultiple} for ${modelName} ${name}.`)
  for (const [key, value] of Object.entries(complete)) {
    if (within(limits, key, value) === value || ignored.some((it) => it === key)) continue
    const { min, max } = limits[key as LimitedParameter] as Range
    const field = snakeCase(key)
    throw invalidParameter(field, `${field} must be from ${min} to ${max} for ${modelName} ${name}.`)
  }
  const maxPixels = maxPixelsOf(parameters)
  if (complete.width * complete.height > maxPixels) {
    const ofAll = `width × height must be at most ${maxPixels} pixels: send both.`
    const ofThis = `width × height must be at most ${maxPixels} pixels for ${modelName} ${name}.`
    throw invalidParameter('width', maxPixels < MAX_PIXELS ? ofThis : ofAll)
  }
  // An empty text asks for nothing.
  const sent = ignored.filter((key) => !omitted.includes(key) && request[key] !== '')
  return { request: complete, ignored: sent }
}

/** A side rounded down to what the model takes; anything else as it is. */
const multiple = ({ sizeMultiple = SIZE_STEP }: ModelParameters, key: string, value: unknown) =>
  isSide(key) && typeof value === 'number' ? Math.floor(value / sizeMultiple) * sizeMultiple : value

const isSide = (key: string) => key === 'width' || key === 'height'

/** The nearest value that the limits allow. */
function within(limits: NonNullable<ModelParameters['limits']>, key: string, value: unknown): unknown {
  const range = limits[key as LimitedParameter]
  return range && typeof value === 'number' ? Math.min(Math.max(value, range.min), range.max) : value
}
