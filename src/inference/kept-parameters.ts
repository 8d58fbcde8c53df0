import type { InferenceRequest } from '../generation/run/backend.js'
import { unsupported } from './backend-failure.js'

/** What a server keeps as it was asked; it would silently change what goes beyond. */
export interface Kept {
  /** The server's name, for the logs. */
  readonly name: string
  readonly maxSeed: number
  readonly sizeMultiple: number
  readonly maxCfgScale?: number | undefined
}

/**
 * Refuses a seed that the server can't keep, a size that it would round, and a cfg_scale beyond its own.
 * @throws BackendError `unsupported`
 */
export function requireKept(
  { name, maxSeed, sizeMultiple, maxCfgScale = Number.POSITIVE_INFINITY }: Kept,
  { seeds, width, height, cfgScale }: InferenceRequest,
): void {
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
  if (cfgScale > maxCfgScale)
    throw unsupported(
      `${name} takes no cfg_scale above ${maxCfgScale}`,
      `A cfg_scale above ${maxCfgScale} is not available on the GPU servers.`,
    )
}

/** Servers give image n the seed + n and never wrap: a batch that passes 2^32 - 1 becomes two calls. */
export function consecutiveRuns(seeds: readonly number[]): number[][] {
  const runs: number[][] = []
  for (const seed of seeds) {
    const run = runs.at(-1)
    if (run && seed === (run.at(-1) as number) + 1) run.push(seed)
    else runs.push([seed])
  }
  return runs
}
