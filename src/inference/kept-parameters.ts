import type { InferenceRequest } from '../generation/backend.js'
import { unsupported } from './failure.js'

/** What a server keeps as it was asked; it would silently change what goes beyond. */
export interface Kept {
  /** The server's name, for the logs. */
  readonly name: string
  readonly maxSeed: number
  readonly sizeMultiple: number
}

/**
 * Refuses a seed that the server can't keep, and a size that it would round.
 * @throws BackendError `unsupported`
 */
export function requireKept({ name, maxSeed, sizeMultiple }: Kept, { seeds, width, height }: InferenceRequest): void {
  if (seeds.some((seed) => seed > maxSeed))
    throw unsupported(
      `${name} keeps no seed above ${maxSeed}`,
      `Seeds above ${maxSeed} are not available on the GPU servers.`,
    )
  if (width % sizeMultiple !== 0 || height % sizeMultiple !== 0)
    throw unsupported(
      `${name} rounds ${width}x${height} to multiples of ${sizeMultiple}`,
      `Only sizes in multiples of ${sizeMultiple} are available on the GPU servers.`,
    )
}
