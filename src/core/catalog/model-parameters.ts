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

/** Credits of an image besides `creditsPerImage`; fractions are summed up and rounded up per image. */
export interface Pricing {
  /** Of 1,000,000 pixels. */
  readonly creditsPerMegapixel?: number
  readonly creditsPerStep?: number
  /** The least that an image costs. */
  readonly minimum?: number
}

/** Rates have at most so many decimals, so that a price is exact. */
export const RATE_DECIMALS = 4
const UNITS = 10 ** RATE_DECIMALS
const PIXELS = 1_000_000n

interface Priced {
  readonly creditsPerImage: number
  readonly pricing?: Pricing | null
}

/** Credits of one image: whole ones, in exact arithmetic, so that every server and every repeat agrees. */
export function imagePrice(
  { creditsPerImage, pricing }: Priced,
  { width, height, steps }: Pick<OptionalParameters, 'width' | 'height' | 'steps'>,
): number {
  if (!pricing) return creditsPerImage
  const unitsOf = (rate = 0) => BigInt(Math.round(rate * UNITS))
  const perPixels = unitsOf(pricing.creditsPerMegapixel) * BigInt(width * height)
  const perSteps = unitsOf(pricing.creditsPerStep) * BigInt(steps) * PIXELS
  const divisor = BigInt(UNITS) * PIXELS
  const extra = Number((perPixels + perSteps + divisor - 1n) / divisor)
  return Math.max(creditsPerImage + extra, pricing.minimum ?? 0)
}

/** The least that an image can cost; without a formula, what each costs. */
export const lowestPrice = ({ creditsPerImage, pricing }: Priced): number =>
  Math.max(creditsPerImage, pricing?.minimum ?? 0)
