import type { ModelVersion } from '../../catalog/model-version.js'
import type { ActiveGenerationLock } from '../active-lock.js'
import type { Generation, GenerationRequest, Lane, SubmittedGeneration } from '../generation.js'
import type { GenerationQueue } from '../queue.js'
import type { MissingJobs } from '../repair/enqueue-missing.js'
import type { Moderator } from './moderator.js'
import type { IdempotencyRequest, IdempotencyStore } from './reservation.js'

export type InsertOutcome =
  | { readonly outcome: 'inserted'; readonly createdAt: Date; readonly creditsLeft: number }
  | { readonly outcome: 'active'; readonly generationId: string | undefined }
  | { readonly outcome: 'insufficient'; readonly held: number }
  | { readonly outcome: 'too_many'; readonly limit: number }
  /** The API key was revoked or its account deleted meanwhile: nothing was stored. */
  | { readonly outcome: 'gone' }
  /** The idempotency key's reservation was taken over meanwhile: nothing was stored. */
  | { readonly outcome: 'reservation_lost' }

export interface SubmissionStore extends Pick<MissingJobs, 'markEnqueued'> {
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

export interface SubmitPorts {
  readonly moderator: Moderator
  readonly lock: ActiveGenerationLock
  readonly submissions: SubmissionStore
  readonly idempotency: IdempotencyStore
  readonly queue: GenerationQueue
  readonly generationDeadlineSeconds: number
}

export interface Submission {
  readonly lane: Lane
  readonly request: GenerationRequest
  /** Finds the model version asked for, or refuses. Called in its place in the order of checks. */
  readonly model: () => Promise<ModelVersion>
  readonly idempotency: IdempotencyRequest | undefined
  /** Where its end is told, besides its account's endpoints. */
  readonly webhookUrl?: string | undefined
}

export interface Submitted extends SubmittedGeneration {
  /** This is the answer to an earlier request with the same Idempotency-Key; nothing was charged now. */
  readonly replayed: boolean
  /** The account's balance after the charge, or as it is at a replay; undefined where nothing is charged. */
  readonly creditsLeft: number | undefined
}
