import { retryInBackground } from '../../../lib/retry.js'
import { type Caller, requireActiveSubscription, requireAllowedModel } from '../../accounts/account.js'
import type { IgnorableParameter } from '../../catalog/model-parameters.js'
import type { ModelVersion } from '../../catalog/model-version.js'
import { priceOf } from '../../catalog/price.js'
import {
  AppError,
  generationActive,
  ideaGone,
  idempotencyInFlight,
  idempotencyMismatch,
  insufficientCredits,
  invalidApiKey,
  keyLimitReached,
  promptFlagged,
  tooManyConcurrent,
} from '../../errors.js'
import {
  type Generation,
  type GenerationRequest,
  newGeneration,
  newGenerationId,
  type SubmittedGeneration,
} from '../generation.js'
import { LOCK_MARGIN_MS } from '../ports.js'
import { type CheckPorts, countCheck } from './check-prompt.js'
import type { InsertOutcome, Submission, SubmitPorts, Submitted } from './ports.js'
import { type AskedRequest, requestFor } from './requested.js'

/**
 * Charges and queues one generation, or leaves no trace. A repeat, by its Idempotency-Key or of a request that nobody got
 * the answer to, resolves to the generation that was submitted before. The order of checks is the contract's: replay,
 * subscription, model, moderation, active generation, credits.
 */
export async function submitGeneration(ports: SubmitPorts, caller: Caller, submission: Submission): Promise<Submitted> {
  try {
    const submitted = await submitOrReplay(ports, caller, submission)
    ports.onOutcome?.(submitted.replayed ? 'replayed' : 'accepted')
    return submitted
  } catch (error) {
    ports.onOutcome?.(error instanceof AppError ? error.code : 'internal')
    throw error
  }
}

async function submitOrReplay(ports: SubmitPorts, caller: Caller, submission: Submission): Promise<Submitted> {
  const { account } = caller
  const id = newGenerationId()
  if (!submission.idempotency) {
    const first = await submission.unanswered?.()
    return first ? replayed(caller, first) : submitOnce(ports, caller, submission, id)
  }
  const { key, bodyHash } = submission.idempotency
  const first = await ports.idempotency.reserve(account.id, key, bodyHash, id)
  if (first.outcome === 'mismatch') throw idempotencyMismatch()
  if (first.outcome === 'in_flight') throw idempotencyInFlight()
  if (first.outcome === 'replay') return replayed(caller, first.generation)
  try {
    return await submitOnce(ports, caller, submission, id)
  } catch (error) {
    // If Postgres stays away, the reservation expires.
    await retryInBackground(() => ports.idempotency.release(account.id, key, id))
    throw error
  }
}

const replayed = ({ account, keyKind }: Caller, first: SubmittedGeneration): Submitted => ({
  ...first,
  replayed: true,
  creditsLeft: keyKind === 'developer' ? undefined : account.credits,
  ignored: [],
})

async function submitOnce(ports: SubmitPorts, caller: Caller, submission: Submission, id: string): Promise<Submitted> {
  const { account } = caller
  const { lane, webhookUrl, requestId } = submission
  const metered = caller.keyKind === 'developer'
  const { model, request, ignored } = await requireAcceptable(ports, caller, submission)
  if (!metered) await takeLock(ports, account.id, id, submission.active)
  const from = { accountId: account.id, keyId: caller.keyId, lane, metered, webhookUrl, requestId }
  const generation = newGeneration(id, request, model, from)
  let inserted: Inserted
  try {
    inserted = await insert(ports, generation, submission)
  } catch (error) {
    if (!metered) await ports.lock.release(account.id, id)
    throw error
  }
  // Charged and stored: the answer waits for nothing else.
  announce(ports, { id, accountId: account.id, metered }).catch(() => undefined)
  const { modelVersionId, modelName, cost, seed, slugs, steps, cfgScale, width, height } = generation
  const { createdAt } = inserted
  const creditsLeft = metered ? undefined : inserted.creditsLeft
  const drawnWith = { steps, cfgScale, width, height }
  return {
    id,
    modelVersionId,
    modelName,
    cost,
    seed,
    slugs,
    ...drawnWith,
    createdAt,
    replayed: false,
    creditsLeft,
    ignored,
  }
}

/** Keeps the account's lock and enqueues the job. If that fails, as while Redis is down, the reconciler does it later. */
async function announce(
  { lock, queue, submissions, generationDeadlineSeconds }: SubmitPorts,
  { id, accountId, metered }: Pick<Generation, 'id' | 'accountId' | 'metered'>,
): Promise<void> {
  const ttlMs = generationDeadlineSeconds * 1000 + LOCK_MARGIN_MS
  const [enqueued] = await Promise.all([
    queue.enqueue([{ id, attempt: 1 }]),
    metered || lock.extend({ accountId, generationId: id, ttlMs }),
  ])
  if (enqueued) await submissions.markEnqueued({ id, attempt: 1 })
}

interface Acceptable {
  readonly model: ModelVersion
  readonly request: GenerationRequest
  readonly ignored: readonly IgnorableParameter[]
}

/**
 * In the contract's order.
 * @throws subscription_required; not_found or model_unavailable; invalid_request outside the model's limits;
 *   content_policy_violation
 */
async function requireAcceptable(
  { moderator, refusedPrompts }: Pick<SubmitPorts, 'moderator' | 'refusedPrompts'>,
  caller: Caller,
  submission: AskedRequest & Pick<Submission, 'model' | 'lane'>,
  isFree = false,
): Promise<Acceptable> {
  if (caller.keyKind !== 'developer') requireActiveSubscription(caller.account)
  const model = await submission.model()
  requireAllowedModel(caller, model.id, askedModel(model, submission.lane))
  const asked = requestFor(model, submission)
  // What a client sent, also where the model does not take it; a model's own default is its operator's.
  const { prompt, negativePrompt } = submission.request
  const verdict = await moderator.review({ prompt, negativePrompt, nsfwModel: model.nsfw })
  if (!verdict.flagged) return { model, ...asked }
  const { parameter, category, matched, secret } = verdict
  const refused = parameter === 'prompt' ? prompt : negativePrompt
  // Of dry runs, like other free checks, only what the account is not told.
  if (!isFree || secret)
    refusedPrompts.note({ accountId: caller.account.id, parameter, category, matched, prompt: refused })
  if (!secret) throw promptFlagged(parameter, category, matched)
  throw promptFlagged(parameter, isFree ? 'refused' : category)
}

const askedModel = ({ id, createImageModel, modelName }: ModelVersion, lane: Submission['lane']) =>
  lane === 'create_image'
    ? { named: `model "${createImageModel ?? modelName}"`, parameter: 'model' }
    : { named: `model version ${id}`, parameter: 'model_version_id' }

/**
 * Takes the account's lock, also from a holder that has ended. @throws active_generation, naming the active one
 * @param readAhead refuses most of those that must wait, before they ask for the lock
 */
async function takeLock(
  { lock, submissions, timeLeft }: SubmitPorts,
  accountId: string,
  id: string,
  readAhead: Submission['active'],
): Promise<void> {
  const known = await readAhead?.()
  if (known) throw generationActive(known.id, await timeLeft(known))
  const taken = await lock.acquire(accountId, id)
  if (taken.acquired) return
  const active = await submissions.activeGeneration(accountId)
  if (active) throw generationActive(active.id, await timeLeft(active))
  // A holder that Postgres knows has ended, so its lock is stale. A holder that was stored but is unknown now was lost
  // by a failover or a restore. Any other is a submit between lock and charge. The unique index catches a mistake.
  const ended = (await submissions.find(taken.holder)) !== undefined || taken.wasStored
  if (!ended || !(await lock.replace(accountId, taken.holder, id))) throw generationActive()
}

type Inserted = Extract<InsertOutcome, { outcome: 'inserted' }>

async function insert(
  { submissions, timeLeft, generationDeadlineSeconds: deadlineSeconds }: SubmitPorts,
  generation: Generation,
  { idempotency, ideaId }: Pick<Submission, 'idempotency' | 'ideaId'>,
): Promise<Inserted> {
  const result = await submissions.insert(generation, { deadlineSeconds, idempotencyKey: idempotency?.key, ideaId })
  switch (result.outcome) {
    case 'inserted':
      return result
    case 'active': {
      const active = await submissions.activeGeneration(generation.accountId).catch(() => undefined)
      throw generationActive(active?.id ?? result.generationId, active && (await timeLeft(active)))
    }
    case 'insufficient':
      throw insufficientCredits(generation.cost, result.held)
    case 'key_limit':
      throw keyLimitReached(generation.cost, result)
    case 'too_many':
      throw tooManyConcurrent(result.limit)
    case 'gone':
      throw invalidApiKey()
    case 'reservation_lost':
      throw idempotencyInFlight()
    case 'idea_gone':
      throw ideaGone()
  }
}

export interface DryRun {
  readonly model: ModelVersion
  readonly ignored: readonly IgnorableParameter[]
  readonly creditsNeeded: number
  readonly creditsHeld: number
  /** Whether the account holds enough and the key may spend it. */
  readonly sufficient: boolean
  /** The charged generation that a submit would have to wait for. */
  readonly activeGenerationId: string | undefined
}

/**
 * What a submit would do, without doing any of it: nothing is charged, locked, stored or queued.
 * @throws as submitGeneration, except for an active generation and for missing credits, which the result shows
 */
export async function dryRunGeneration(
  ports: Pick<SubmitPorts, 'submissions'> & CheckPorts,
  caller: Caller,
  submission: AskedRequest & Pick<Submission, 'model'>,
): Promise<DryRun> {
  await countCheck(ports, caller.account.id)
  const { model, request, ignored } = await requireAcceptable(ports, caller, { ...submission, lane: 'personal' }, true)
  const { keyId, keyMonthlyLimit } = caller
  const { id: accountId, credits: creditsHeld } = caller.account
  const creditsNeeded = priceOf(model, request)
  const left =
    keyMonthlyLimit === null
      ? creditsHeld
      : Math.min(creditsHeld, keyMonthlyLimit - (await ports.submissions.spentThisMonth(accountId, keyId)))
  return {
    ...{ model, ignored, creditsNeeded, creditsHeld },
    sufficient: left >= creditsNeeded,
    activeGenerationId: (await ports.submissions.activeGeneration(accountId))?.id,
  }
}
