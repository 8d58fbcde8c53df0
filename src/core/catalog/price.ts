/** What images cost. */
import type { OptionalParameters } from './model-parameters.js'

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

/** Credits of a generation. */
export const priceOf = (model: Priced, request: Pick<OptionalParameters, 'width' | 'height' | 'steps' | 'batchSize'>) =>
  imagePrice(model, request) * request.batchSize

/** The least that an image can cost; without a formula, what each costs. */
export const lowestPrice = ({ creditsPerImage, pricing }: Priced): number =>
  Math.max(creditsPerImage, pricing?.minimum ?? 0)
