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
import type { GenerationRequest } from '../generation.js'

/** What a client asks for. A model version may have defaults and limits of its own, so it is complete only with one. */
export interface AskedRequest {
  /** With the interface's defaults for what the client left out. */
  readonly request: GenerationRequest
  readonly omitted: readonly (keyof OptionalParameters)[]
  /** Of the interface: a model's defaults are moved into them. */
  readonly interfaceLimits?: ModelParameters['limits']
}

/** The most pixels of an image. */
export const MAX_PIXELS = 2048 * 1536

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
  const { defaults = {}, limits = {}, ignored = [] } = parameters
  const usual = (key: keyof OptionalParameters) => defaults[key] ?? request[key]
  const filled = omitted.map((key) => [key, within(limits, key, within(interfaceLimits, key, usual(key)))])
  // Nothing is avoided where a negative prompt has no effect, whatever was sent.
  const fixed = ignored.map((key) => [key, key === 'negativePrompt' ? (defaults[key] ?? '') : usual(key)])
  const complete: GenerationRequest = { ...request, ...Object.fromEntries([...filled, ...fixed]) }
  for (const [key, value] of Object.entries(complete)) {
    if (within(limits, key, value) === value || fixed.some(([it]) => it === key)) continue
    const { min, max } = limits[key as LimitedParameter] as Range
    const field = snakeCase(key)
    throw invalidParameter(field, `${field} must be from ${min} to ${max} for ${modelName} ${name}.`)
  }
  if (complete.width * complete.height > MAX_PIXELS)
    throw invalidParameter('width', `width × height must be at most ${MAX_PIXELS} pixels: send both.`)
  // An empty text asks for nothing.
  const sent = ignored.filter((key) => !omitted.includes(key) && request[key] !== '')
  return { request: complete, ignored: sent }
}

/** The nearest value that the limits allow. */
function within(limits: NonNullable<ModelParameters['limits']>, key: string, value: unknown): unknown {
  const range = limits[key as LimitedParameter]
  return range && typeof value === 'number' ? Math.min(Math.max(value, range.min), range.max) : value
}
