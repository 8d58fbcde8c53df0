/** Which kinds of work no live backend can do. */
import { MAX_SEED } from './generation.js'
import type { ServedCapabilities } from './run/ports.js'

/** A backend is alive if it was seen within this time; workers report every few seconds. */
export const ALIVE_MS = 15_000
/** A generation fails only if for this long nothing has changed, and its model was missing on every live backend. */
export const MISSING_MS = 60_000

/** What a subscriber reads, by what no live backend can serve; `%` is replaced by the model's name, the sampler, … */
export const LACKING = {
  model: 'The model "%" is not loaded on any GPU server at the moment. Choose another model.',
  sampler: 'The sampler "%" is not available on the GPU servers. Choose another sampler.',
  seed: 'The seed % is too large for the GPU servers. Choose a seed up to 2147483644.',
  size: 'The size % is not available on the GPU servers. Choose a width and a height that are multiples of 64.',
  cfg_scale: 'The cfg_scale % is not available on the GPU servers. Choose one up to 20.',
} as const

/** A requirement of a generation that no live backend meets. */
export type Lacking = keyof typeof LACKING

/** What tells generations apart for a backend. */
export interface KindOfWork {
  readonly filename: string
  readonly sampler: string
  /** What not every backend can do, as bits: the sum of `NEEDS`, as `generation_needs` in Postgres computes it. */
  readonly needs: number
}

/** A seed above 2^31 - 1; sizes in multiples of 8 only, or of 16 or 8 only; a cfg_scale above 20. */
const NEEDS = { seed: 1, sizeOf8: 2, sizeOf16: 4, cfgScale: 8 }
const SIZE = NEEDS.sizeOf8 + NEEDS.sizeOf16
/** The largest seed of a kind without `NEEDS.seed`. */
const SMALL_SEED = 2147483647

type Limits = Pick<ServedCapabilities, 'maxSeed' | 'sizeMultiple'> & {
  readonly maxCfgScale?: number | null | undefined
}

/** The needs that a backend does not meet. */
export const unmetNeeds = ({ maxSeed, sizeMultiple, maxCfgScale }: Limits): number =>
  (maxSeed < MAX_SEED ? NEEDS.seed : 0) +
  (sizeMultiple > 8 ? NEEDS.sizeOf8 : 0) +
  (sizeMultiple > 16 ? NEEDS.sizeOf16 : 0) +
  (typeof maxCfgScale === 'number' ? NEEDS.cfgScale : 0)

/** A backend as its worker has announced it last. */
export interface AnnouncedBackend extends Limits, Pick<ServedCapabilities, 'models' | 'samplers'> {
  readonly up: boolean
  /** It is paused by the operator. */
  readonly paused: boolean
  readonly seenMsAgo: number
  /** Since when it serves the same, without a time in which it was not seen. */
  readonly changedMsAgo: number
}

/** One that is down might have any model, unless it has refused from the start: then it is announced without models. */
const mayServe = ({ up, models }: AnnouncedBackend, filename: string) =>
  models === null || models.includes(filename) || (!up && models.length > 0)

/**
 * Why no backend can do this kind of work; undefined: one can, or may soon.
 * @param waitedMs how long its first generation has waited
 */
export function unservable(
  backends: readonly AnnouncedBackend[],
  { filename, sampler, needs }: KindOfWork,
  waitedMs = 0,
): Lacking | undefined {
  // One that is paused may be away for as long as the operator likes.
  const recent = backends.filter(({ seenMsAgo, paused }) => seenMsAgo < MISSING_MS || paused)
  // Just started or back: after an outage others, which serve more, may not be back yet.
  if (recent.some(({ changedMsAgo }) => changedMsAgo < MISSING_MS)) return undefined
  const alive = backends.filter(({ seenMsAgo }) => seenMsAgo < ALIVE_MS)
  const having = recent.filter((backend) => mayServe(backend, filename))
  if (having.length === 0) return alive.length > 0 && waitedMs > MISSING_MS ? 'model' : undefined
  if (having.some(({ up }) => !up) || !having.some((backend) => alive.includes(backend))) return undefined
  const maxSeed = needs & NEEDS.seed ? MAX_SEED : SMALL_SEED
  if (having.every(({ samplers }) => !samplers.includes(sampler))) return 'sampler'
  if (having.every((backend) => backend.maxSeed < maxSeed)) return 'seed'
  if (having.every((backend) => needs & unmetNeeds(backend) & SIZE)) return 'size'
  if (having.every((backend) => needs & unmetNeeds(backend) & NEEDS.cfgScale)) return 'cfg_scale'
  return undefined
}

/** What the live backends can do; at most a second old. */
export interface ServableNow {
  /** Whether live backends have the model but none of those the sampler. False while no backend is alive. */
  isSamplerUnavailable(filename: string, sampler: string): Promise<boolean>
}
