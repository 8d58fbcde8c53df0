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
  const complete = { ...request } as { -readonly [Name in keyof GenerationRequest]: GenerationRequest[Name] }
  for (const key of omitted) Object.assign(complete, { [key]: defaults[key] ?? request[key] })
  for (const key of omitted)
    for (const range of [interfaceLimits, limits].map((of) => of[key as LimitedParameter]))
      if (range) Object.assign(complete, { [key]: within(range, complete[key as LimitedParameter]) })
  for (const key of ignored)
    Object.assign(complete, { [key]: defaults[key] ?? (key === 'negativePrompt' ? '' : request[key]) })
  for (const [key, { min, max }] of Object.entries(limits)) {
    const value = complete[key as LimitedParameter]
    const isSent = !omitted.some((it) => it === key) && !ignored.some((it) => it === key)
    if (!isSent || (value >= min && value <= max)) continue
    const field = publicName(key)
    throw invalidParameter(field, `${field} must be from ${min} to ${max} for ${modelName} ${name}.`)
  }
  if (complete.width * complete.height > MAX_PIXELS)
    throw invalidParameter('width', `width × height must be at most ${MAX_PIXELS} pixels: send both.`)
  // An empty text asks for nothing.
  const sent = ignored.filter((key) => !omitted.includes(key) && request[key] !== '')
  return { request: complete, ignored: sent }
}

const within = ({ min, max }: Range, value: number): number => Math.min(Math.max(value, min), max)

/** As requests spell it. */
export const publicName = (parameter: string): string =>
  parameter.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
