import type { IgnorableParameter } from '../../catalog/model-parameters.js'
import type { ModelVersion } from '../../catalog/model-version.js'
import type { ErrorCode } from '../../errors.js'
import type { Generation, GenerationView, SubmittedGeneration } from '../generation.js'
import type { ActiveGenerationLock, Delivery, GenerationQueue } from '../ports.js'
import type { AskedRequest } from './requested.js'

export interface IdempotencyRequest {
  readonly key: string
  /** SHA-256 over the interface and the body. */
  readonly bodyHash: Buffer
}

type Reservation =
  | { readonly outcome: 'reserved' | 'mismatch' | 'in_flight' }
  | { readonly outcome: 'replay'; readonly generation: SubmittedGeneration }

export interface IdempotencyStore {
  /** Reserves the key for a generation that is about to be submitted, or tells what became of its first request. */
  reserve(accountId: string, key: string, bodyHash: Buffer, generationId: string): Promise<Reservation>
  /** Frees the key unless its generation was stored; once freed, that generation can no longer be stored. */
  release(accountId: string, key: string, generationId: string): Promise<void>
  /** The generation that was submitted under the key, if it was stored. */
  find(accountId: string, key: string): Promise<string | undefined>
}

export interface Submission extends AskedRequest, Pick<Generation, 'lane' | 'webhookUrl' | 'requestId'> {
  /** Finds the requested model version, or throws. Called in its place in the order of checks. */
  readonly model: () => Promise<ModelVersion>
  readonly idempotency: IdempotencyRequest | undefined
  /** The idea of Up next that this submits: it is deleted where the generation is stored, or neither happens. */
  readonly ideaId?: string | undefined
  /**
   * Finds the generation of an earlier request like this that nobody has got, if any; asked only without an
   * Idempotency-Key, in its place in the order of checks.
   */
  readonly unanswered?: (() => Promise<SubmittedGeneration | undefined>) | undefined
  /**
   * The account's active charged generation, where it was read ahead and that is not long ago: a submit that must wait is
   * then refused sooner. Called in its place in the order of checks.
   */
  readonly active?: (() => Promise<GenerationView | undefined>) | undefined
}

export interface Submitted extends SubmittedGeneration {
  /** This is the answer to an earlier request that this one repeats; nothing was charged now. */
  readonly replayed: boolean
  /** The account's balance after the charge, or as it is at a replay; undefined where nothing is charged. */
  readonly creditsLeft: number | undefined
  /** What was sent and has no effect on the model; empty at a replay. */
  readonly ignored: readonly IgnorableParameter[]
}

/** `parameter` is the request's field that the verdict is about. */
export type Verdict =
  | { readonly flagged: false }
  | {
      readonly flagged: true
      readonly parameter: 'prompt' | 'negative_prompt'
      readonly category: string
      readonly matched: readonly string[]
      /** Only operators learn the words, and nobody is advised: they must not be tried again in disguise. */
      readonly secret?: true
    }

export interface Moderator {
  /** Runs before anything is locked or charged. @throws AppError `unavailable` if a required check was not possible */
  review(text: { prompt: string; negativePrompt: string; nsfwModel: boolean }): Promise<Verdict>
}

export interface OwnRules {
  /** By the rules of this installation alone: nothing of the text goes to anybody else. */
  reviewHere: Moderator['review']
}

interface RefusedPrompt {
  readonly accountId: string
  readonly parameter: 'prompt' | 'negative_prompt'
  readonly category: string
  readonly matched: readonly string[]
  /** The text of that parameter. */
  readonly prompt: string
}

export interface RefusedPrompts {
  /** Keeps it for the operator, later and as well as it goes: never throws, and of a flood keeps only some. */
  note(refused: RefusedPrompt): void
}

export type InsertOutcome =
  | { readonly outcome: 'inserted'; readonly createdAt: Date; readonly creditsLeft: number }
  | { readonly outcome: 'active'; readonly generationId: string | undefined }
  | { readonly outcome: 'insufficient'; readonly held: number }
  | { readonly outcome: 'too_many'; readonly limit: number }
  /** The key would spend more than it may in a month. */
  | { readonly outcome: 'key_limit'; readonly limit: number; readonly spent: number }
  /** The API key was revoked or its account deleted meanwhile: nothing was stored. */
  | { readonly outcome: 'gone' }
  /** Another request took the idempotency key's reservation over: nothing was stored. */
  | { readonly outcome: 'reservation_lost' }
  /** The idea was submitted, changed or removed meanwhile: nothing was stored. */
  | { readonly outcome: 'idea_gone' }

export interface SubmissionStore {
  /**
   * Charges and stores the generation in one statement, or leaves no trace. "active" wins over "insufficient". With
   * `idempotencyKey` it stores only while that key's reservation still names this generation; with `ideaId` it deletes
   * that idea of Up next, and stores only if it is there.
   * @throws AppError `unavailable` when Postgres can't tell the outcome in time
   */
  insert(
    generation: Generation,
    options: { deadlineSeconds: number; idempotencyKey: string | undefined; ideaId?: string | undefined },
  ): Promise<InsertOutcome>
  /** Credits that the key has spent in this calendar month, in UTC, less those given back. */
  spentThisMonth(accountId: string, keyId: string): Promise<number>
  /** The account's queued or processing charged generation, if it has one. */
  activeGeneration(accountId: string): Promise<GenerationView | undefined>
  /** The queue has the job of this attempt. */
  markEnqueued(delivery: Delivery): Promise<void>
  find(id: string): Promise<SubmittedGeneration | undefined>
}

export interface SubmitPorts {
  readonly moderator: Moderator
  readonly refusedPrompts: RefusedPrompts
  readonly lock: ActiveGenerationLock
  readonly submissions: SubmissionStore
  readonly idempotency: IdempotencyStore
  readonly queue: GenerationQueue
  /** Whole seconds until this generation ends, if that can be estimated. */
  readonly timeLeft: (active: GenerationView) => Promise<number | undefined>
  readonly generationDeadlineSeconds: number
  /** Told what became of each submit. */
  readonly onOutcome?: (outcome: 'accepted' | 'replayed' | ErrorCode) => void
}
