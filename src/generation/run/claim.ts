/** What a worker claims, and what it may write about it. */
import type { Generation, GenerationView } from '../generation.js'
import type { MadeWith } from './backend.js'

/** What a worker needs to run one attempt. Every write it makes names `attempt`, and changes nothing once the row has a later one. */
export interface ClaimedGeneration extends Generation {
  readonly attempt: number
  /** Faults so far that counted; the third one fails the generation. */
  readonly tries: number
}

/** What one backend can do now; a claim takes only what fits. `models: null` means any file name. */
export interface Serves {
  readonly models: readonly string[] | null
  readonly samplers: readonly string[]
  readonly maxSeed: number
  /** Both sides of an image must be multiples of it, in pixels. */
  readonly sizeMultiple: number
  /** Undefined: any. */
  readonly maxCfgScale?: number | undefined
}

/** Lets a claim prefer generations of the model that a backend holds: loading another one takes seconds. */
export interface Affinity {
  readonly filename: string
  /** For how long the oldest waiting generation may be passed over in all; 0 never passes it over. */
  readonly maxDelayMs: number
  /** What this backend takes for one step over one pixel of one image; 0 while that is not known. */
  readonly msPerPixelStep: number
}

export interface StoredImage {
  readonly slug: string
  readonly seed: number
  readonly width: number
  readonly height: number
  readonly bytes: number
  readonly sha256: string
  readonly madeWith?: MadeWith
}

export interface RunStore {
  /**
   * Takes the first claimable generation in queue order that this backend can serve, under a lease of some seconds;
   * with an affinity, the first of its model, as long as the one that comes first may still be passed over.
   */
  claim(
    by: { readonly worker: string; readonly backend: string },
    serves: Serves,
    affinity?: Affinity,
  ): Promise<ClaimedGeneration | undefined>
  /** Renews the lease. False: the attempt is no longer ours (canceled, expired, taken over). */
  heartbeat(id: string, attempt: number): Promise<boolean>
  /** Images and success in one transaction. False: the attempt was no longer ours and nothing was written. */
  succeed(generation: ClaimedGeneration, images: readonly StoredImage[]): Promise<boolean>
  /** Where a generation stands, and its latest attempt; undefined when there is none of that ID. */
  standing(id: string): Promise<{ readonly status: GenerationView['status']; readonly attempt: number } | undefined>
  /** Failure and refund in one transaction. False: the attempt was no longer ours and nothing was written. */
  fail(generation: ClaimedGeneration, reason: string): Promise<boolean>
  /**
   * Puts a running generation back in its place. `countTry`: the fault was the generation's own. `delayMs`: before this it
   * cannot be claimed. Resolves to the new attempt, or undefined when the old one was no longer ours.
   */
  requeue(generation: ClaimedGeneration, options: { countTry: boolean; delayMs: number }): Promise<number | undefined>
}

/** Which backends are alive and what they serve, for all processes to see. */
export interface BackendRegistry {
  /**
   * Reports one backend; `serves` is what it was last known to serve. Nothing waits for one that is down and has no models
   * at all. The report of a worker that leaves stays for a while: it may be back in a moment.
   */
  announce(worker: string, backend: string, up: boolean, serves: Serves): Promise<void>
}
