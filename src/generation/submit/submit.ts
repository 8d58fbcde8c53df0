import { type Caller, requireActiveSubscription } from '../../account/account.js'
import type { ModelVersion } from '../../catalog/model-version.js'
import {
  generationActive,
  idempotencyInFlight,
  idempotencyMismatch,
  insufficientCredits,
  invalidApiKey,
  promptFlagged,
  tooManyConcurrent,
} from '../../errors.js'
import { failpoint, guardOff } from '../../failpoint.js'
import { type Generation, type GenerationRequest, type Lane, newGeneration, newGenerationId } from '../generation.js'
import type {
  ActiveGenerationLock,
  GenerationQueue,
  IdempotencyStore,
  InsertOutcome,
  Moderator,
  SubmissionStore,
  SubmittedGeneration,
} from '../ports.js'
import { LOCK_MARGIN_MS } from '../repair/reconcile.js'

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

export interface IdempotencyRequest {
  readonly key: string
  /** SHA-256 over the interface and the body. */
  readonly bodyHash: Buffer
}

export interface Submitted extends SubmittedGeneration {
  /** This is the answer to an earlier request with the same Idempotency-Key; nothing was charged now. */
  readonly replayed: boolean
  /** The account's balance after the charge, or as it is at a replay; undefined where nothing is charged. */
  readonly creditsLeft: number | undefined
}

/**
 * Charges and queues one generation, or leaves no trace. The order of checks is the contract's: idempotent replay,
 * subscription, model, moderation, active generation, credits.
 */
export async function submitGeneration(ports: SubmitPorts, caller: Caller, submission: Submission): Promise<Submitted> {
  const { idempotency } = submission
  const id = newGenerationId()
  if (!idempotency) return submitOnce(ports, caller, submission, id)

  const { account } = caller
  const first = await ports.idempotency.reserve(account.id, idempotency.key, idempotency.bodyHash, id)
  if (first.outcome === 'mismatch') throw idempotencyMismatch()
  if (first.outcome === 'in_flight') throw idempotencyInFlight()
  if (first.outcome === 'replay') {
    return {
      ...first.generation,
      replayed: true,
      creditsLeft: caller.keyKind === 'developer' ? undefined : account.credits,
    }
  }
  await failpoint('idempotency.after_reserve')
  try {
    return await submitOnce(ports, caller, submission, id)
  } catch (error) {
    await failpoint('idempotency.before_release')
    await release(ports.idempotency, account.id, idempotency.key, id)
    throw error
  }
}

/** The pauses between tries to free a key while Postgres is away; after them it is free anyway. */
const RELEASE_AGAIN_MS = [500, 1000, 2000, 4000, 8000]

/**
 * Frees the key of a submit that failed, whatever the reason: the store keeps the key of a generation that was stored
 * after all, and stores none whose key has been freed. Nobody waits for more than the first try.
 */
async function release(keys: IdempotencyStore, accountId: string, key: string, id: string, tries = 0): Promise<void> {
  const pauseMs = RELEASE_AGAIN_MS[tries]
  await keys.release(accountId, key, id).catch(() => {
    if (pauseMs === undefined) return
    setTimeout(() => void release(keys, accountId, key, id, tries + 1), pauseMs).unref()
  })
}

async function submitOnce(ports: SubmitPorts, caller: Caller, submission: Submission, id: string): Promise<Submitted> {
  const { account } = caller
  const metered = caller.keyKind === 'developer'
  const model = await requireAcceptable(ports.moderator, caller, submission)
  const generation = newGeneration(id, submission.request, model, {
    accountId: account.id,
    keyId: caller.keyId,
    lane: submission.lane,
    metered,
    webhookUrl: submission.webhookUrl,
  })
  if (!metered) await takeLock(ports, generation)
  await failpoint('submit.after_lock')
  let inserted: Inserted
  try {
    await failpoint('submit.before_insert')
    inserted = await insert(ports, generation, caller.concurrency, submission.idempotency?.key)
  } catch (error) {
    if (!metered) await ports.lock.release(account.id, id)
    throw error
  }
  // Charged and stored: from here on nothing may turn it into an error. What does not reach Redis now, the reconciler adds.
  await failpoint('submit.after_insert')
  const ttlMs = ports.generationDeadlineSeconds * 1000 + LOCK_MARGIN_MS
  await Promise.all([
    metered || ports.lock.extend({ accountId: account.id, generationId: id, ttlMs }),
    ports.queue.ring([{ id, attempt: 1 }]).then((rung) => {
      // Not waited for; where it fails, the reconciler rings once more.
      if (rung) ports.submissions.markRung([{ id, attempt: 1 }]).catch(() => undefined)
    }),
  ])
  await failpoint('submit.after_ring')
  const { modelVersionId, modelName, cost, seed } = generation
  const { createdAt, creditsLeft } = inserted
  const facts = { id, modelVersionId, modelName, cost, seed, slugs: generation.slugs, createdAt }
  return { ...facts, replayed: false, creditsLeft: metered ? undefined : creditsLeft }
}

/**
 * What can be refused before anything is locked or charged, in the order of checks.
 * @throws subscription_required; not_found or model_unavailable; content_policy_violation
 */
export async function requireAcceptable(
  moderator: Moderator,
  caller: Caller,
  submission: Pick<Submission, 'request' | 'model'>,
): Promise<ModelVersion> {
  if (caller.keyKind !== 'developer') requireActiveSubscription(caller.account)
  const model = await submission.model()
  const { prompt, negativePrompt } = submission.request
  const verdict = await moderator.review({ prompt, negativePrompt, nsfwModel: model.nsfw })
  if (verdict.flagged) throw promptFlagged(verdict.parameter, verdict.category, verdict.matched)
  return model
}

/** @throws active_generation, naming the one that is active; a lock left behind by an ended one is taken over */
async function takeLock({ lock, submissions }: SubmitPorts, { accountId, id }: Generation): Promise<void> {
  const taken = await lock.acquire(accountId, id)
  if (taken.acquired) return
  const active = await submissions.activeGeneration(accountId)
  if (active) throw generationActive(active)
  // Known: it has ended, and its lock is a leftover. Unknown though it was stored before we asked: Postgres has lost it,
  // to a failover or a restore. Else another submit is between its lock and its charge. Were it wrong, the index refuses.
  const ended = !guardOff('lock.verify') && ((await submissions.find(taken.holder)) !== undefined || taken.wasStored)
  if (!ended || !(await lock.replace(accountId, taken.holder, id))) throw generationActive()
}

type Inserted = Extract<InsertOutcome, { outcome: 'inserted' }>

async function insert(
  { submissions, generationDeadlineSeconds }: SubmitPorts,
  generation: Generation,
  concurrency: number,
  idempotencyKey: string | undefined,
): Promise<Inserted> {
  const result = await submissions.insert(generation, {
    deadlineSeconds: generationDeadlineSeconds,
    concurrency,
    idempotencyKey,
  })
  switch (result.outcome) {
    case 'inserted':
      return result
    case 'active':
      throw generationActive(result.generationId)
    case 'insufficient':
      throw insufficientCredits(generation.cost, result.held)
    case 'too_many':
      throw tooManyConcurrent(result.limit)
    case 'gone':
      throw invalidApiKey()
    case 'reservation_lost':
      throw idempotencyInFlight()
  }
}
