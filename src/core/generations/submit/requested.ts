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
 * The parameters that this model draws with, and the names of those that the client sent in vain.
 * What the client left out is moved into the limits; what it sent is not.
 * @throws invalid_request for a parameter outside the model's limits, which its sentence names
 */
export function requestFor(
  { parameters, modelName, name }: Pick<ModelVersion, 'parameters' | 'modelName' | 'name'>,
  { request, omitted, interfaceLimits = {} }: AskedRequest,
): { readonly request: GenerationRequest; readonly ignored: readonly IgnorableParameter[] } {
  if (!parameters) return { request, ignored: [] }
  const { defaults = {}, limits = {}, ignored = [], sizeMultiple = SIZE_STEP } = parameters
  const usual = (key: keyof OptionalParameters) => defaults[key] ?? request[key]
  const multiple = (key: string, value: unknown) =>
    isSide(key) && typeof value === 'number' ? Math.floor(value / sizeMultiple) * sizeMultiple : value
  const filled = omitted.map((key) => [
    key,
    multiple(key, within(limits, key, within(interfaceLimits, key, usual(key)))),
  ])
  // Nothing is avoided where a negative prompt has no effect, whatever was sent.
  const fixed = ignored.map((key) => [key, key === 'negativePrompt' ? (defaults[key] ?? '') : usual(key)])
  const complete: GenerationRequest = { ...request, ...Object.fromEntries([...filled, ...fixed]) }
  const wrong = ['width', 'height'].find((key) => multiple(key, complete[key as 'width']) !== complete[key as 'width'])
  if (wrong) throw invalidParameter(wrong, `${wrong} must be a multiple of ${sizeMultiple} for ${modelName} ${name}.`)
  for (const [key, value] of Object.entries(complete)) {
    if (within(limits, key, value) === value || fixed.some(([it]) => it === key)) continue
    const { min, max } = limits[key as LimitedParameter] as Range
    const field = snakeCase(key)
    throw invalidParameter(field, `${field} must be from ${min} to ${max} for ${modelName} ${name}.`)
  }
  const maxPixels = maxPixelsOf(parameters)
  if (complete.width * complete.height > maxPixels) {
    const all = maxPixels < MAX_PIXELS ? ` for ${modelName} ${name}` : ': send both'
    throw invalidParameter('width', `width × height must be at most ${maxPixels} pixels${all}.`)
  }
  // An empty text asks for nothing.
  const sent = ignored.filter((key) => !omitted.includes(key) && request[key] !== '')
  return { request: complete, ignored: sent }
}

const isSide = (key: string) => key === 'width' || key === 'height'

/** The nearest value that the limits allow. */
function within(limits: NonNullable<ModelParameters['limits']>, key: string, value: unknown): unknown {
  const range = limits[key as LimitedParameter]
  return range && typeof value === 'number' ? Math.min(Math.max(value, range.min), range.max) : value
}
