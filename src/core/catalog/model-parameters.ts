/** What a request's parameters mean for one model version. */

/** What a request may leave out. `sampler` is one of `SAMPLERS` in core/generations/generation.ts. */
export interface OptionalParameters {
  readonly negativePrompt: string
  readonly width: number
  readonly height: number
  readonly batchSize: number
  readonly steps: number
  readonly cfgScale: number
  readonly sampler: string
}

export interface Range {
  readonly min: number
  readonly max: number
}

/** Without it, parameters are as the API says. */
export interface ModelParameters {
  /** What a request gets that leaves them out, before the API's own defaults. */
  readonly defaults?: Partial<OptionalParameters>
  /** Narrower than the API's own. */
  readonly limits?: Partial<Record<LimitedParameter, Range>>
  /** Have no effect on this model: requests get its default, whatever they say. All but the negative prompt have one. */
  readonly ignored?: readonly IgnorableParameter[]
  /** Widths and heights are multiples of it, in pixels; without it, of the API's own step. */
  readonly sizeMultiple?: number
  /** An image's size divided by the one that is asked for, where the model enlarges what it has drawn. */
  readonly scale?: number
}

export const LIMITED_PARAMETERS = ['width', 'height', 'batchSize', 'steps', 'cfgScale'] as const
export type LimitedParameter = (typeof LIMITED_PARAMETERS)[number]
export const IGNORABLE_PARAMETERS = ['negativePrompt', 'steps', 'cfgScale', 'sampler'] as const
export type IgnorableParameter = (typeof IGNORABLE_PARAMETERS)[number]
