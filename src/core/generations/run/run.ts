import { linkedSignal } from '../../../lib/abort-signals.js'
import { retryFor } from '../../../lib/retry.js'
import { ImageTooLarge } from '../../images/ports.js'
import type { Log } from '../../log.js'
import { IMAGE_REFUSED, IMAGE_UNCHECKED, NOT_STORED, publicReason, TOO_LARGE_TO_STORE } from '../failure-reason.js'
import type { ActiveGenerationLock, GenerationQueue, PreviewBoard, ProgressBoard } from '../ports.js'
import type { RefusedPrompts } from '../submit/ports.js'
import { BACKEND_FAULTS, BackendError, type BackendErrorKind, type InferenceBackend, isServerFault } from './backend.js'
import type { SharedFault } from './fault-attribution.js'
import { type GpuTurn, waitForTurn } from './gpu-slot.js'
import { GpuNotFree, infer } from './infer.js'
import { type GenerationEnds, keepLease } from './lease.js'
import type { ClaimedGeneration, PutBackReason, RunStore } from './ports.js'
import { ImageRefused, ImageUnchecked, type PublishPorts, publish, StoreFault, TakenOver } from './publish.js'
import { MAX_TRIES, RUN_TIMES, type RunTimes } from './times.js'

export interface RunPorts extends PublishPorts {
  readonly runs: RunStore
  readonly ends: GenerationEnds
  readonly lock: ActiveGenerationLock
  readonly queue: GenerationQueue
  readonly progress: ProgressBoard
  readonly previews: PreviewBoard
  readonly log: Log
  /** Runs an attempt, as traces need it; without it the attempt just runs. */
  readonly around?: (
    generation: ClaimedGeneration,
    backend: string,
    work: () => Promise<RunOutcome>,
  ) => Promise<RunOutcome>
  /** Told of each inference that failed, or whose images cannot be published. */
  readonly onFault?: (generation: ClaimedGeneration, kind: PutBackReason | 'image_refused' | 'image_unchecked') => void
  /** Keeps the prompts of refused images for operators. */
  readonly refusedPrompts?: RefusedPrompts
  /** Whether the credits of a refused image are given back. */
  readonly refundRefused?: boolean | undefined
}

/** What a worker remembers of its backend's faults over several generations. */
export interface BackendFaults {
  /** The connection broke during the inference: whether this generation is to blame. */
  isCulprit(): boolean
  /** The inference failed. Undefined: the fault is the generation's own, and counts as a try. */
  sharedFault(): SharedFault | undefined
  /** The backend lists the model but does not have it, or cannot load its file. Whether that costs a try. */
  lacksModel(): boolean
  /** The backend failed, for whatever reason. */
  failed(): void
  /** The store has refused an image of this generation, which is put again until the attempt ends. */
  notStored(fault: StoreFault): void
}

/** How the attempt ended, for the backend's loop; `down`: the server is at fault, not the generation. */
export type RunOutcome = 'succeeded' | 'failed' | 'requeued' | 'lost' | { readonly down: BackendError }

/** The generation may have crashed the worker: its lease is left to expire, so that the reconciler counts the death. */
export class WorkerCrash extends Error {}

interface Attempt extends RunPorts {
  readonly generation: ClaimedGeneration
  readonly times: RunTimes
  /** For every log line. */
  readonly facts: object
}

const RECORD_FOR_MS = 30_000

/** Retries a write whose answer was lost; the write's own condition makes the repetition harmless. */
const record = <T>(write: () => Promise<T>): Promise<T> => retryFor(write, RECORD_FOR_MS)

/**
 * Runs one claimed attempt to its end: wait for the GPU, infer, check, store, record, release. The outcome is recorded
 * before the lock is released, and every write counts only while the attempt is still ours.
 * @param signal aborts when the worker must stop: the generation is then requeued in its place, without a try
 * @throws WorkerCrash when that is the signal's reason
 */
export async function runGeneration(
  ports: RunPorts,
  backend: InferenceBackend,
  generation: ClaimedGeneration,
  signal: AbortSignal,
  turn: GpuTurn,
  faults: BackendFaults,
  times: RunTimes = RUN_TIMES,
): Promise<RunOutcome> {
  const { runs, log } = ports
  const { id: generationId, requestId } = generation
  const facts = { generationId, requestId, attempt: generation.attempt, backend: backend.name }
  const attempt = { ...ports, generation, times, facts }
  const lease = keepLease(runs, ports.ends, generation, times)
  const { signal: stop, clear } = linkedSignal([signal, lease.signal])
  try {
    if (!(await waitForTurn(turn, stop)) && !stop.aborted) return await requeue(attempt, 'gpu_not_free')
    const startedAt = performance.now()
    log.info(facts, 'generation started')
    const inferred = await infer(ports, backend, generation, stop, turn)
    const inferenceMs = Math.round(performance.now() - startedAt)
    const images = await publish(ports, generation, inferred, {
      stillOurs: lease.stillOurs,
      signal: stop,
      checkImageForMs: times.checkImageForMs,
      storeForMs: times.storeForMs,
      onRefusal: faults.notStored,
    })
    // The next notice of its end is our own.
    lease.ignoreEnds()
    const ours = await record(() => runs.succeed(generation, images))
    if (!ours) return lost(attempt)
    log.info({ ...facts, inferenceMs, totalMs: Math.round(performance.now() - startedAt) }, 'generation succeeded')
    await settle(attempt)
    return 'succeeded'
  } catch (error) {
    // The lease may have ended: requeue, which does nothing if another worker has taken the generation over.
    if (lease.isDoubtful()) return requeue(attempt, 'lease_in_doubt')
    if (lease.signal.aborted || error instanceof TakenOver) return lost(attempt)
    if (signal.reason instanceof WorkerCrash) throw signal.reason
    if (signal.aborted) return requeue(attempt, 'worker_leaving')
    if (error instanceof GpuNotFree) return requeue(attempt, 'gpu_not_free')
    return await afterFault(attempt, error, faults)
  } finally {
    clear()
    lease.stop()
  }
}

async function afterFault(attempt: Attempt, error: unknown, faults: BackendFaults): Promise<RunOutcome> {
  const { log, facts } = attempt
  if (error instanceof StoreFault || error instanceof ImageTooLarge) {
    attempt.onFault?.(attempt.generation, 'store_failed')
    log.error({ ...facts, err: error }, 'images could not be stored')
    // Not drawn again: the store would refuse the same images, and the GPU might draw them without end.
    return fail(attempt, error instanceof ImageTooLarge ? TOO_LARGE_TO_STORE : NOT_STORED)
  }
  if (error instanceof ImageRefused) return refuse(attempt, error)
  if (error instanceof ImageUnchecked) {
    attempt.onFault?.(attempt.generation, 'image_unchecked')
    return fail(attempt, IMAGE_UNCHECKED)
  }
  const fault = error instanceof BackendError ? error : undefined
  const kind = fault?.kind ?? 'internal'
  attempt.onFault?.(attempt.generation, kind)
  log.warn({ ...facts, err: error, kind }, 'generation attempt failed')
  if (fault && BACKEND_FAULTS.some((its) => its === kind)) faults.failed()
  if (isServerFault(error)) {
    await afterServerFault(attempt, error, faults)
    return { down: error }
  }
  switch (fault?.kind) {
    case 'invalid_request':
    case 'unsupported':
      // Another server may take what this one refuses: a proxy before it, or its version, may be at fault.
      if (await record(() => attempt.runs.servedByOther(attempt.generation.id))) return failOrRetry(attempt, fault)
      return fail(attempt, fault.publicMessage)
    case 'model_missing':
      // First, so that another backend claims it.
      if (faults.lacksModel()) return failOrRetry(attempt, fault)
      return requeue(attempt, fault.kind, { countTry: false, delayMs: backoffMs(attempt.times, 0) })
    case 'backend_fault':
    case 'bad_output': {
      const sharedFault = faults.sharedFault()
      if (!sharedFault) return failOrRetry(attempt, fault)
      const delayMs = backoffMs(attempt.times, sharedFault.times)
      const requeued = await requeue(attempt, fault.kind, { countTry: false, delayMs })
      return sharedFault.down ? { down: fault } : requeued
    }
    default:
      return failOrRetry(attempt, error)
  }
}

/**
 * So often a fault of the server costs no try. One that restarts loses what it draws once or twice; a proxy that gives up
 * too early does so each time. One that answers probes and refuses the same drawing for minutes will not take it.
 */
const FREE: Readonly<Partial<Record<BackendErrorKind, number>>> = { lost: 2, unavailable: 20, auth: 20, unusable: 20 }

/**
 * Another generation goes first, as the backend's loop sees to. If only this one is refused or dropped, by a firewall
 * before the server for instance, the fault is this one's; but whoever is busy may be so again.
 */
async function afterServerFault(attempt: Attempt, error: BackendError, faults: BackendFaults): Promise<RunOutcome> {
  const { runs, generation, times } = attempt
  const delayMs = error.kind === 'lost' ? times.droppedMs : 0
  const free = FREE[error.kind]
  const isOwn =
    free !== undefined && (faults.isCulprit() || (await record(() => runs.putBacks(generation.id, error.kind))) >= free)
  return isOwn ? failOrRetry(attempt, error, delayMs) : requeue(attempt, error.kind, { countTry: false, delayMs })
}

function failOrRetry(attempt: Attempt, error: unknown, atLeastMs = 0): Promise<RunOutcome> {
  const tries = attempt.generation.tries + 1
  if (tries >= MAX_TRIES) return fail(attempt, publicReason(error))
  const reason = error instanceof BackendError ? error.kind : 'internal'
  return requeue(attempt, reason, { countTry: true, delayMs: Math.max(atLeastMs, backoffMs(attempt.times, tries)) })
}

/** Full jitter over a doubling cap. */
const backoffMs = ({ retryMs }: RunTimes, failures: number): number =>
  Math.random() * Math.min(30_000, retryMs * 2 ** failures)

/** Drawing it again would show the same. */
function refuse(attempt: Attempt, { categories }: ImageRefused): Promise<RunOutcome> {
  const { generation, refusedPrompts, refundRefused } = attempt
  const { accountId, prompt } = generation
  attempt.onFault?.(generation, 'image_refused')
  const category = `drawn image: ${categories.join(', ')}`
  refusedPrompts?.note({ accountId, parameter: 'prompt', category, matched: [], prompt })
  return fail(attempt, IMAGE_REFUSED, refundRefused)
}

async function fail(attempt: Attempt, reason: string, isRefunded = true): Promise<RunOutcome> {
  const { runs, log, generation, facts } = attempt
  if (!(await record(() => runs.fail(generation, reason, isRefunded)))) return lost(attempt)
  log.warn({ ...facts, reason }, 'generation failed')
  await settle(attempt)
  await discard(attempt)
  return 'failed'
}

async function requeue(
  { runs, queue, log, generation, facts }: Attempt,
  reason: PutBackReason,
  options = { countTry: false, delayMs: 0 },
): Promise<RunOutcome> {
  const next = await record(() => runs.requeue(generation, { reason, ...options }))
  log.info({ ...facts, reason, ...options, requeued: next !== undefined }, 'generation requeued')
  // After a delay the reconciler enqueues it.
  if (next !== undefined && options.delayMs === 0) await queue.enqueue([{ id: generation.id, attempt: next }])
  return 'requeued'
}

/** The attempt was canceled, expired or taken over, which is recorded already. */
async function lost(attempt: Attempt): Promise<RunOutcome> {
  const { runs, queue, log, generation, facts } = attempt
  log.info(facts, 'generation attempt is no longer ours')
  await queue.withdraw(generation)
  // After a take-over the files may be the other worker's. After a cancel they are ours and of no use.
  const now = await runs.currentAttempt(generation.id).catch(() => undefined)
  if (now?.status === 'failed') await discard(attempt)
  return 'lost'
}

async function discard({ images, generation }: Attempt): Promise<void> {
  await Promise.all(generation.slugs.map((slug) => images.remove(slug).catch(() => undefined)))
}

async function settle({ lock, queue, generation }: Attempt): Promise<void> {
  if (!generation.metered) await lock.release(generation.accountId, generation.id)
  await queue.withdraw(generation)
}
