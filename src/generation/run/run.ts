import { linkedSignal } from '../../abort-signals.js'
import { failpoint } from '../../failpoint.js'
import type { Log } from '../../log.js'
import type { ActiveGenerationLock } from '../active-lock.js'
import { MAX_TRIES, publicReason } from '../failure-reason.js'
import type { PreviewBoard, ProgressBoard } from '../live-board.js'
import type { GenerationQueue } from '../queue.js'
import { BackendError, type InferenceBackend } from './backend.js'
import type { SharedFault } from './backend-experience.js'
import type { ClaimedGeneration, RunStore } from './claim.js'
import { type GpuTurn, waitForTurn } from './gpu-turn.js'
import { infer } from './infer.js'
import { type GenerationEnds, keepLease } from './lease.js'
import { type PublishPorts, publish, StoreFault, TakenOver } from './publish.js'
import { retryFor } from './retry-for.js'

export interface RunPorts extends PublishPorts {
  readonly runs: RunStore
  readonly ends: GenerationEnds
  readonly lock: ActiveGenerationLock
  readonly queue: GenerationQueue
  readonly progress: ProgressBoard
  readonly previews: PreviewBoard
  readonly log: Log
}

/** What a worker has seen of its backend over several generations. */
export interface Experience {
  /** The connection broke during the inference: whether this generation is to blame. */
  isCulprit(): boolean
  /** The inference failed. Undefined: the fault is the generation's own, and counts as a try. */
  sharedFault(): SharedFault | undefined
  /** The backend lists the model but does not have it. */
  lacksModel(): void
}

/** How the attempt ended, for the backend's loop: `down` names a server or a store that is at fault, not the job. */
export type RunOutcome = 'succeeded' | 'failed' | 'requeued' | 'lost' | { readonly down: BackendError | StoreFault }

/** The generation may have crashed the worker: its lease is left to end, so that the reconciler counts the death. */
export class WorkerCrash extends Error {
  constructor() {
    super('the worker has met an error that nobody caught')
  }
}

const RECORD_FOR_MS = 30_000

/**
 * Runs one claimed attempt to its end: wait for the GPU, infer, check, store, record, release. The outcome is recorded
 * before the lock is released, and every write counts only while the attempt is still ours.
 * @param signal aborts when the worker must go: the generation then returns to its place and loses nothing
 * @throws WorkerCrash when that is the signal's reason
 * @param turn the GPU's, which others use before and after
 */
export async function runGeneration(
  ports: RunPorts,
  backend: InferenceBackend,
  generation: ClaimedGeneration,
  signal: AbortSignal,
  turn: GpuTurn,
  experience: Experience,
): Promise<RunOutcome> {
  const { runs, log } = ports
  const facts = { generationId: generation.id, attempt: generation.attempt, backend: backend.name }
  const beat = keepLease(runs, ports.ends, generation)
  const { signal: stop, clear } = linkedSignal([signal, beat.signal])
  try {
    await failpoint('run.after_claim')
    if (!(await waitForTurn(turn, stop)) && !stop.aborted) {
      return await requeue(ports, generation, { countTry: false, delayMs: 0 }, facts)
    }
    const startedAt = performance.now()
    log.info(facts, 'generation started')
    const inferred = await infer(ports, backend, generation, stop, turn)
    await failpoint('run.after_infer')
    const inferenceMs = Math.round(performance.now() - startedAt)
    const images = await publish(ports, generation, inferred, beat.stillOurs)
    await failpoint('run.before_succeed')
    // The next notice of its end will be our own.
    beat.ignoreEnds()
    const ours = await record(() => runs.succeed(generation, images))
    await failpoint('run.after_succeed')
    if (!ours) return lost(ports, generation, facts)
    log.info({ ...facts, inferenceMs, totalMs: Math.round(performance.now() - startedAt) }, 'generation succeeded')
    await settle(ports, generation)
    return 'succeeded'
  } catch (error) {
    // The lease may have ended: put the generation back, unless another worker has taken it over.
    if (beat.doubtful) return requeue(ports, generation, { countTry: false, delayMs: 0 }, facts)
    if (beat.signal.aborted || error instanceof TakenOver) return lost(ports, generation, facts)
    if (signal.reason instanceof WorkerCrash) throw signal.reason
    if (signal.aborted) return requeue(ports, generation, { countTry: false, delayMs: 0 }, facts)
    return await afterFault(ports, generation, error, experience, facts)
  } finally {
    clear()
    beat.stop()
  }
}

async function afterFault(
  ports: RunPorts,
  generation: ClaimedGeneration,
  error: unknown,
  experience: Experience,
  facts: object,
): Promise<RunOutcome> {
  if (error instanceof StoreFault) {
    ports.log.error({ ...facts, err: error }, 'images could not be stored')
    await requeue(ports, generation, { countTry: false, delayMs: 0 }, facts)
    return { down: error }
  }
  const fault = error instanceof BackendError ? error : undefined
  ports.log.warn({ ...facts, err: error, kind: fault?.kind ?? 'internal' }, 'generation attempt failed')
  switch (fault?.kind) {
    case 'unavailable':
    case 'busy':
    case 'auth':
    case 'unusable':
      await requeue(ports, generation, { countTry: false, delayMs: 0 }, facts)
      return { down: fault }
    case 'lost':
      // Let another generation go first: if the server drops only this one, the fault is this one's.
      if (experience.isCulprit()) await failOrRetry(ports, generation, fault, facts)
      else await requeue(ports, generation, { countTry: false, delayMs: 2000 }, facts)
      return { down: fault }
    case 'invalid_request':
    case 'unsupported':
      return fail(ports, generation, fault.publicMessage, facts)
    case 'model_missing':
      // First, so that another backend takes it.
      experience.lacksModel()
      return requeue(ports, generation, { countTry: false, delayMs: 0 }, facts)
    case 'backend_fault':
    case 'bad_output': {
      const sharedFault = experience.sharedFault()
      if (!sharedFault) return failOrRetry(ports, generation, fault, facts)
      const put = await requeue(ports, generation, { countTry: false, delayMs: backoffMs(sharedFault.times) }, facts)
      return sharedFault.down ? { down: fault } : put
    }
    default:
      return failOrRetry(ports, generation, error, facts)
  }
}

function failOrRetry(
  ports: RunPorts,
  generation: ClaimedGeneration,
  error: unknown,
  facts: object,
): Promise<RunOutcome> {
  const tries = generation.tries + 1
  if (tries >= MAX_TRIES) return fail(ports, generation, publicReason(error), facts)
  return requeue(ports, generation, { countTry: true, delayMs: backoffMs(tries) }, facts)
}

/** Full jitter over a doubling cap. */
const backoffMs = (times: number): number => Math.random() * Math.min(30_000, 500 * 2 ** times)

async function fail(
  ports: RunPorts,
  generation: ClaimedGeneration,
  reason: string,
  facts: object,
): Promise<RunOutcome> {
  await failpoint('run.before_fail')
  if (!(await record(() => ports.runs.fail(generation, reason)))) return lost(ports, generation, facts)
  await failpoint('run.after_fail')
  ports.log.warn({ ...facts, reason }, 'generation failed')
  await settle(ports, generation)
  await discard(ports, generation)
  return 'failed'
}

async function requeue(
  ports: RunPorts,
  generation: ClaimedGeneration,
  options: { countTry: boolean; delayMs: number },
  facts: object,
): Promise<RunOutcome> {
  await failpoint('run.before_requeue')
  const attempt = await record(() => ports.runs.requeue(generation, options))
  await failpoint('run.after_requeue')
  ports.log.info({ ...facts, ...options, requeued: attempt !== undefined }, 'generation put back in its place')
  // With a delay the reconciler rings when it is over.
  if (attempt !== undefined && options.delayMs === 0) await ports.queue.enqueue([{ id: generation.id, attempt }])
  return 'requeued'
}

/** The attempt was canceled, expired or taken over; that is recorded already. */
async function lost(ports: RunPorts, generation: ClaimedGeneration, facts: object): Promise<RunOutcome> {
  ports.log.info(facts, 'generation attempt is no longer ours')
  await ports.queue.withdraw(generation)
  // After a take-over the files may be the other worker's. After a cancel nobody will see ours.
  const now = await ports.runs.standing(generation.id).catch(() => undefined)
  if (now?.status === 'failed') await discard(ports, generation)
  return 'lost'
}

async function discard({ images }: RunPorts, { slugs }: ClaimedGeneration): Promise<void> {
  for (const slug of slugs) await images.remove(slug).catch(() => undefined)
}

async function settle({ lock, queue }: RunPorts, generation: ClaimedGeneration): Promise<void> {
  if (!generation.metered) await lock.release(generation.accountId, generation.id)
  await failpoint('run.after_release')
  await queue.withdraw(generation)
}

/** Repeats a write whose answer was lost. Its guard makes a repetition harmless. */
const record = <T>(write: () => Promise<T>): Promise<T> => retryFor(write, RECORD_FOR_MS)
