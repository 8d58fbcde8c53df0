import type { Generation, GenerationStatus } from '../generation.js'
import type { BackendErrorKind, Capabilities, MadeWith } from './backend.js'

/** One attempt. Every write of its worker names `attempt`, and changes nothing once the row has a later one. */
export interface ClaimedGeneration extends Generation {
  readonly attempt: number
  /** Attempts whose failure counted; the third one fails the generation. */
  readonly tries: number
}

/** What one backend can do now; a claim takes only what fits. */
export interface ServedCapabilities extends Omit<Capabilities, 'ambiguous' | 'samplers' | 'lacks'> {
  readonly samplers: readonly string[]
}

/** Who claims. */
export interface Claimant {
  readonly worker: string
  readonly backend: string
  /** Nothing has succeeded there since an inference failed. */
  readonly failing?: boolean
  /** One failed lately: it takes only what no other live backend that works could take instead. */
  readonly yields?: boolean
  /** Generations that it does not take. */
  readonly except?: readonly string[]
}

/** Lets a claim prefer generations of the model that the backend holds: loading another one takes seconds. */
export interface Affinity {
  readonly filename: string
  /** For how long the oldest waiting generation may be passed over in all. */
  readonly maxDelayMs: number
  /** The time of this backend for one step over one pixel of one image; 0 while that is not known. */
  readonly msPerPixelStep: number
}

export interface StoredImage extends Pick<Generation, 'seed' | 'width' | 'height'> {
  readonly slug: string
  readonly bytes: number
  readonly sha256: string
  readonly hasThumbnail?: boolean
  readonly madeWith?: MadeWith
}

/**
 * Why an attempt was put back, besides the faults of backends: a fault of ours, images that could not be stored, a GPU
 * that did not come free, a worker that leaves, that could not renew its lease, or that has died.
 */
export type PutBackReason =
  | BackendErrorKind
  | 'internal'
  | 'store_failed'
  | 'gpu_not_free'
  | 'worker_leaving'
  | 'lease_in_doubt'
  | 'worker_lost'

export interface PutBack {
  readonly reason: PutBackReason
  /** The fault was its own, and costs a try. */
  readonly countTry: boolean
  /** How long it must not be claimed. */
  readonly delayMs: number
}

/** What a write returns is false or undefined if the attempt was no longer ours, and nothing was written. */
export interface RunStore {
  /**
   * Takes the first claimable generation in queue order that this backend can serve, under a lease of some seconds;
   * with an affinity, the first of its model, as long as the one that comes first may still be passed over. One that
   * this backend has failed is left to a live one that has not and can serve it, unless only that one is failing.
   */
  claim(by: Claimant, serves: ServedCapabilities, affinity?: Affinity): Promise<ClaimedGeneration | undefined>
  /** Renews the lease. */
  heartbeat(id: string, attempt: number): Promise<boolean>
  /** Images and success in one transaction. */
  succeed(generation: ClaimedGeneration, images: readonly StoredImage[]): Promise<boolean>
  /** A generation's status and its latest attempt. */
  currentAttempt(id: string): Promise<{ readonly status: GenerationStatus; readonly attempt: number } | undefined>
  /** How many of its attempts were put back for this reason. */
  putBacks(id: string, reason: PutBackReason): Promise<number>
  /** Whether a live backend other than the one that runs it, which has not failed with it, could serve it. */
  servedByOther(id: string): Promise<boolean>
  /** Failure and refund in one transaction. @param isRefunded false: no credits are given back, whatever REFUND_FAILED says */
  fail(generation: ClaimedGeneration, reason: string, isRefunded?: boolean): Promise<boolean>
  /** Puts it back in its place in the queue, as a new attempt, whose number it resolves to. */
  requeue(generation: ClaimedGeneration, how: PutBack): Promise<number | undefined>
}

/** What the operator is told of a backend. */
export interface BackendCondition {
  /** The model file that it has loaded, if that is known. */
  readonly loaded: string | undefined
  /** Why it was last down, in the words of the log; undefined once it has worked since. */
  readonly error: string | undefined
  /** Nothing has succeeded there since an inference failed: others leave nothing to it. */
  readonly failing?: boolean
  /** What it lacks for definitions that it cannot draw with. */
  readonly lacks?: Capabilities['lacks']
}

/** Which backends are alive and what they serve, readable by all processes. */
export interface BackendRegistry {
  /**
   * Reports one backend; `serves` is what it was last known to serve. No generation waits for a backend that is down
   * and has no models. A report outlives its worker for a while, because the worker may be restarting.
   */
  announce(
    worker: string,
    backend: string,
    up: boolean,
    serves: ServedCapabilities,
    condition?: BackendCondition,
  ): Promise<void>
}
