/** What the core asks of the outside. Interfaces only; the adapters that implement them are wired in wiring.ts. */

import type { Lacking } from './failure-reason.js'
import type { Generation, GenerationView, Lane } from './generation.js'
import type { MadeWith } from './run/backend.js'

/** What the worker needs to run one attempt; every write it makes carries `attempt` and is void once that has moved on. */
export interface ClaimedGeneration extends Generation {
  readonly attempt: number
  /** Faults so far that named this job; the third one fails it. */
  readonly tries: number
}

export type InsertOutcome =
  | { readonly outcome: 'inserted'; readonly createdAt: Date; readonly creditsLeft: number }
  | { readonly outcome: 'active'; readonly generationId: string | undefined }
  | { readonly outcome: 'insufficient'; readonly held: number }
  | { readonly outcome: 'too_many'; readonly limit: number }
  /** The key was revoked or its user deleted since it was let in: nothing was stored. */
  | { readonly outcome: 'gone' }
  /** The idempotency key's reservation was taken over meanwhile: nothing was stored. */
  | { readonly outcome: 'reservation_lost' }

export interface SubmittedGeneration {
  readonly id: string
  readonly modelVersionId: number
  readonly modelName: string
  readonly cost: number
  readonly seed: number
  /** What its pictures will be called. */
  readonly slugs: readonly string[]
  readonly createdAt: Date
}

export interface SubmissionStore extends Pick<ReconcileStore, 'markRung'> {
  /**
   * Charges and stores the generation in one statement, or leaves no trace. A personal key's generation asks for an
   * active one first, so that "active" wins over "insufficient". With `idempotencyKey` it holds only while that key's
   * reservation still names this generation.
   * @throws AppError `unavailable` when Postgres can't tell the outcome in time
   */
  insert(
    generation: Generation,
    options: { deadlineSeconds: number; concurrency: number; idempotencyKey: string | undefined },
  ): Promise<InsertOutcome>
  /** Whether the account has a queued or processing charged generation, and which. */
  activeGeneration(accountId: string): Promise<string | undefined>
  find(id: string): Promise<(SubmittedGeneration & { readonly accountId: string }) | undefined>
}

export type Reservation =
  | { readonly outcome: 'reserved' }
  | { readonly outcome: 'mismatch' }
  | { readonly outcome: 'in_flight' }
  | { readonly outcome: 'replay'; readonly generation: SubmittedGeneration }

export interface IdempotencyStore {
  /** Claims the key for a generation that is about to be submitted, or says what became of the first one. */
  reserve(accountId: string, key: string, bodyHash: Buffer, generationId: string): Promise<Reservation>
  /** Failures are not kept: frees the key unless its generation was stored. Without its key it is not stored later. */
  release(accountId: string, key: string, generationId: string): Promise<void>
}

/** At most one active charged generation per account. Postgres's unique index is the truth; this one refuses early and cheaply. */
export interface ActiveGenerationLock {
  /**
   * Takes the lock, or names the generation that holds it. An outage counts as taken: the index guards alone.
   * Taking it again for the same generation succeeds. `wasStored`: the lock lasts longer than a submit under way has it,
   * so by then its holder had been stored.
   */
  acquire(
    accountId: string,
    generationId: string,
  ): Promise<
    { readonly acquired: true } | { readonly acquired: false; readonly holder: string; readonly wasStored: boolean }
  >
  /** Takes the lock over from a holder that is known to have ended. */
  replace(accountId: string, holder: string, generationId: string): Promise<boolean>
  /**
   * Keeps a lock until past its generation's deadline, once that is stored; best effort. One that is no longer held stays
   * away: the generation may have ended already.
   */
  extend(lock: HeldLock & { readonly ttlMs: number }): Promise<void>
  /**
   * Keeps the locks of active generations, and sets them anew where none is held. Resolves to whether that is known to
   * have worked.
   */
  keep(locks: readonly (HeldLock & { readonly ttlMs: number })[]): Promise<boolean>
  /** Compare and delete: only the holder's id releases. */
  release(accountId: string, generationId: string): Promise<void>
  /** Every lock there is, in pages. */
  all(): AsyncIterable<readonly HeldLock[]>
}

export interface HeldLock {
  readonly accountId: string
  readonly generationId: string
}

/** The queue's doorbell: a delivery says that there is work; which one is decided by the claim in Postgres. */
export interface GenerationQueue {
  /** Best effort within a deadline, never an error. Resolves to whether the deliveries are known to be in the queue. */
  ring(deliveries: readonly Delivery[]): Promise<boolean>
  /** Takes back the delivery of a generation that was claimed or ended without it; best effort. */
  unring(delivery: Delivery): Promise<void>
}

export interface PollStore {
  /** The account's own generation; another account's is as absent as one that never existed. */
  findOwned(accountId: string, id: string): Promise<GenerationView | undefined>
}

export interface QueuePositions {
  /** 1 for the next one up, over the whole queue, at most half a second old. */
  of(generation: { readonly lane: Lane; readonly seq: number }): Promise<number>
}

/** Tells a worker at once when a generation it runs was ended by somebody else; a notice may be lost. */
export interface GenerationEnds {
  /** @returns stops watching */
  watch(id: string, onEnd: () => void): () => void
}

export interface CancelStore {
  /**
   * Ends a generation that has not finished and gives its credits back; its worker notices at the next heartbeat.
   * `onlyQueued` spares one that is running. Resolves to undefined when there was nothing to end.
   */
  cancel(id: string, reason: string, options: { onlyQueued: boolean }): Promise<EndedGeneration | undefined>
}

export interface EndedGeneration {
  readonly id: string
  readonly accountId: string
  readonly attempt: number
  readonly metered: boolean
  /** What its owner is told. */
  readonly reason: string
  /** The slugs under which an attempt may have stored pictures that nobody will see; none if it never started. */
  readonly leftovers: readonly string[]
}

/** What one backend can do now; a claim takes only what fits. `models: null` means any file name. */
export interface Serves {
  readonly models: readonly string[] | null
  readonly samplers: readonly string[]
  readonly maxSeed: number
  /** Both sides of a picture must be multiples of it, in pixels. */
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
   * Puts a running generation back in its place. `countTry` for a fault that named this job; `delayMs` before it can
   * be claimed again. Resolves to the new attempt, or undefined when the old one was no longer ours.
   */
  requeue(generation: ClaimedGeneration, options: { countTry: boolean; delayMs: number }): Promise<number | undefined>
}

export interface ImageStore {
  /**
   * Stores a PNG under its slug, replacing what an earlier attempt left; resolves once it is durable and readable.
   * @param isWanted asked at the last moment, so that an attempt which was taken over meanwhile replaces nothing
   * @returns false when it was not wanted any more
   */
  put(slug: string, png: Buffer, isWanted?: () => Promise<boolean>): Promise<boolean>
  remove(slug: string): Promise<void>
  /** Rejects unless a picture could be stored now; asked after a put has failed. */
  check(): Promise<void>
  /** The permanent public URL. */
  url(slug: string): string
}

/** The published files, for those who may have more than the public link gives. */
export interface PictureFiles {
  /** The public file as it is; undefined when there is none. */
  read(slug: string): Promise<Buffer | undefined>
  /** The same picture with a text in it that says how it was made, as other tools read it. */
  withInfotext(png: Buffer, infotext: string): Buffer
}

/** `parameter` is the request's field the verdict is about. */
export type Verdict =
  | { readonly flagged: false }
  | {
      readonly flagged: true
      readonly parameter: 'prompt' | 'negative_prompt'
      readonly category: string
      readonly matched: readonly string[]
    }

export interface Moderator {
  /**
   * Reviews a prompt before anything is locked or charged.
   * @throws AppError `unavailable` when the prompt must not pass unchecked and could not be checked
   */
  review(text: {
    readonly prompt: string
    readonly negativePrompt: string
    readonly nsfwModel: boolean
  }): Promise<Verdict>
}

export interface FinishedPicture {
  readonly png: Buffer
  readonly sha256: string
}

/**
 * Checks what a backend returned and makes the picture that is published: PNG, marked as AI-generated, nothing else.
 * @throws BackendError `bad_output`
 */
export type FinishPicture = (
  bytes: Buffer,
  expected: { readonly width: number; readonly height: number; readonly seed: number; readonly model: string },
) => Promise<FinishedPicture>

/** What the backends can do that are alive; at most a second old. */
export interface Abilities {
  /** Whether some draw with the model and none of those has the sampler. Unknown, as while none is alive, is false. */
  lackSampler(filename: string, sampler: string): Promise<boolean>
}

/** Which backends are alive and what they serve, for all processes to see. */
export interface BackendRegistry {
  /**
   * Reports one backend; `serves` is what it was last known to serve. One that is down and has no models at all is not
   * waited for. A worker that leaves is not struck off: what it
   * served a minute ago may be back in a moment.
   */
  announce(worker: string, backend: string, up: boolean, serves: Serves): Promise<void>
}

export interface Delivery {
  readonly id: string
  readonly attempt: number
}

/** What the reconciler reads and mends in Postgres; each rule is guarded by its own condition, so two at once do no harm. */
export interface ReconcileStore {
  /** Attempts whose worker stopped renewing its lease, put back in their place. */
  requeueLost(): Promise<Delivery[]>
  /** Those under which one worker too many has died. */
  failLost(): Promise<EndedGeneration[]>
  failExpired(): Promise<EndedGeneration[]>
  /** Queued generations that no live backend can serve, for lack of this. */
  failUnservable(lacking: Lacking): Promise<EndedGeneration[]>
  /** Queued generations whose delivery is not known to have reached the queue. */
  unrung(): Promise<Delivery[]>
  markRung(deliveries: readonly Delivery[]): Promise<void>
  /** The first of what is queued: more than there are backends that may be idle. */
  firstQueued(): Promise<Delivery[]>
  /** Charged active generations, in pages by account. */
  activePage(afterAccountId: string | undefined): Promise<{ id: string; accountId: string; remainingMs: number }[]>
  endedAmong(ids: readonly string[]): Promise<string[]>
  /** Slugs of generations that failed lately: a crash may have left pictures under them that nobody will see. */
  wastedSlugs(): Promise<string[]>
  /** Forgets what has expired. */
  clean(): Promise<void>
}
