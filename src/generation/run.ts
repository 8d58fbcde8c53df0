import { randomUUID } from 'node:crypto'
import { failpoint } from '../failpoint.js'
import { BackendError, type InferenceBackend, type InferredImage } from './backend.js'
import { MAX_TRIES, publicReason } from './failure.js'
import { seedsOf } from './generation.js'
import { keepLease } from './lease.js'
import { patiently } from './patience.js'
import type {
  ActiveGenerationLock,
  ClaimedGeneration,
  FinishPicture,
  GenerationQueue,
  ImageStore,
  ProgressBoard,
  RunStore,
  StoredImage,
} from './ports.js'

export interface RunPorts {
  readonly runs: RunStore
  readonly lock: ActiveGenerationLock
  readonly queue: GenerationQueue
  readonly images: ImageStore
  readonly progress: ProgressBoard
  readonly finishPicture: FinishPicture
  readonly log: RunLog
}

/** Facts first, then a constant sentence; never a prompt. */
export interface RunLog {
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
}

/** How the attempt ended, for the backend's loop: `down` names a server or a store that is at fault, not the job. */
export type RunOutcome = 'succeeded' | 'failed' | 'requeued' | 'lost' | { readonly down: BackendError | StoreFault }

/** The picture store refused: nobody's generation is to blame, and the next one's pictures would fare no better. */
export class StoreFault extends Error {}

const PROGRESS_EVERY_MS = 250
/** What a backend is given to wind up after an abort; then it is left to itself. */
const ABORT_GRACE_MS = 6000
const RECORD_FOR_MS = 30_000
const STORE_FOR_MS = 5000

/**
 * Runs one claimed attempt to its end: infer, check, store, record, release. The outcome is recorded before the lock is
 * released, and every write counts only while the attempt is still ours.
 * @param signal aborts when the worker must go: the generation then returns to its place and loses nothing
 * @param isCulprit told of a connection that broke during the inference: whether this generation alone causes it
 */
export async function runGeneration(
  ports: RunPorts,
  backend: InferenceBackend,
  generation: ClaimedGeneration,
  signal: AbortSignal,
  isCulprit: () => boolean,
): Promise<RunOutcome> {
  const { runs, log } = ports
  const facts = { generationId: generation.id, attempt: generation.attempt, backend: backend.name }
  const beat = keepLease(runs, generation)
  const stop = AbortSignal.any([signal, beat.signal])
  const startedAt = performance.now()
  log.info(facts, 'generation started')
  try {
    await failpoint('run.after_claim')
    const inferred = await infer(ports, backend, generation, stop)
    await failpoint('run.after_infer')
    const inferenceMs = Math.round(performance.now() - startedAt)
    const images = await publish(ports, generation, inferred)
    await failpoint('run.before_succeed')
    const ours = await record(() => runs.succeed(generation, images))
    await failpoint('run.after_succeed')
    if (!ours) return lost(ports, generation, facts)
    log.info({ ...facts, inferenceMs, totalMs: Math.round(performance.now() - startedAt) }, 'generation succeeded')
    await settle(ports, generation)
    return 'succeeded'
  } catch (error) {
    // In doubt about the lease, an attempt that nobody has taken over goes back without costing a try.
    if (beat.doubtful) return requeue(ports, generation, { countTry: false, delayMs: 0 }, facts)
    if (beat.signal.aborted) return lost(ports, generation, facts)
    if (signal.aborted) return requeue(ports, generation, { countTry: false, delayMs: 0 }, facts)
    return await afterFault(ports, generation, error, isCulprit, facts)
  } finally {
    beat.stop()
  }
}

async function afterFault(
  ports: RunPorts,
  generation: ClaimedGeneration,
  error: unknown,
  isCulprit: () => boolean,
  facts: object,
): Promise<RunOutcome> {
  if (error instanceof StoreFault) {
    ports.log.error({ ...facts, err: error }, 'pictures could not be stored')
    await requeue(ports, generation, { countTry: false, delayMs: 0 }, facts)
    return { down: error }
  }
  const fault = error instanceof BackendError ? error : undefined
  ports.log.warn({ ...facts, err: error, kind: fault?.kind ?? 'internal' }, 'generation attempt failed')
  switch (fault?.kind) {
    case 'unavailable':
    case 'busy':
    case 'auth':
      await requeue(ports, generation, { countTry: false, delayMs: 0 }, facts)
      return { down: fault }
    case 'lost':
      // Somebody else may go first: if the server drops only this one, the fault is the job's.
      if (isCulprit()) await failOrRetry(ports, generation, fault, facts)
      else await requeue(ports, generation, { countTry: false, delayMs: 2000 }, facts)
      return { down: fault }
    case 'invalid_request':
    case 'unsupported':
      return fail(ports, generation, fault.publicMessage, facts)
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
  // Full jitter over a doubling cap.
  const delayMs = Math.random() * Math.min(30_000, 500 * 2 ** tries)
  return requeue(ports, generation, { countTry: true, delayMs }, facts)
}

async function infer(
  { progress }: RunPorts,
  backend: InferenceBackend,
  generation: ClaimedGeneration,
  stop: AbortSignal,
): Promise<InferredImage[]> {
  const { width, height, steps, cfgScale, sampler, prompt, negativePrompt, seed, batchSize, filename } = generation
  let shownAt = 0
  const onProgress = (fraction: number) => {
    if (performance.now() - shownAt < PROGRESS_EVERY_MS) return
    shownAt = performance.now()
    progress.set(generation.id, generation.attempt, Math.max(0, Math.min(1, fraction))).catch(() => undefined)
  }
  stop.throwIfAborted()
  const inferred = await orAbandon(
    backend.generate(
      {
        attemptId: randomUUID(),
        model: filename,
        prompt,
        negativePrompt,
        width,
        height,
        steps,
        cfgScale,
        sampler,
        seeds: seedsOf(seed, batchSize),
      },
      { signal: stop, onProgress },
    ),
    stop,
  )
  if (inferred.length !== batchSize) {
    throw new BackendError(
      'bad_output',
      `the backend returned ${inferred.length} images instead of ${batchSize}`,
      'The GPU server returned an incomplete result. Please submit it again.',
    )
  }
  return inferred
}

/** A backend that does not heed the abort must not hold the worker. */
async function orAbandon<T>(work: Promise<T>, stop: AbortSignal): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  let giveUp: (() => void) | undefined
  const abandoned = new Promise<never>((_, reject) => {
    giveUp = () => {
      timer = setTimeout(() => reject(stop.reason), ABORT_GRACE_MS)
    }
    stop.addEventListener('abort', giveUp, { once: true })
  })
  try {
    return await Promise.race([work, abandoned])
  } finally {
    clearTimeout(timer)
    // A listener that stays would keep the pictures alive for as long as the process.
    if (giveUp) stop.removeEventListener('abort', giveUp)
    work.catch(() => undefined)
  }
}

/**
 * Checks, marks and stores the pictures; each is durable and readable before the generation may say "succeeded". When
 * one fails the others are waited for: a file that lands after its generation has failed would stay for ever.
 */
async function publish(
  ports: RunPorts,
  generation: ClaimedGeneration,
  inferred: InferredImage[],
): Promise<StoredImage[]> {
  const published = await Promise.allSettled(inferred.map((image, i) => publishOne(ports, generation, image, i)))
  return published.map((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value
  })
}

async function publishOne(
  { finishPicture, images }: RunPorts,
  { width, height, modelName, slugs }: ClaimedGeneration,
  { bytes, seed }: InferredImage,
  i: number,
): Promise<StoredImage> {
  const { png, sha256 } = await finishPicture(bytes, { width, height, seed, model: modelName })
  const slug = slugs[i] as string
  try {
    await failpoint('run.before_put')
    await patiently(() => images.put(slug, png), STORE_FOR_MS)
    await failpoint('run.after_put')
  } catch (cause) {
    throw new StoreFault(`picture ${slug} could not be stored`, { cause })
  }
  return { slug, seed, width, height, bytes: png.length, sha256 }
}

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
  if (attempt !== undefined && options.delayMs === 0) await ports.queue.ring([{ id: generation.id, attempt }])
  return 'requeued'
}

/** The attempt was canceled, expired or taken over: whoever did that has recorded it. */
async function lost(ports: RunPorts, generation: ClaimedGeneration, facts: object): Promise<RunOutcome> {
  ports.log.info(facts, 'generation attempt is no longer ours')
  await ports.queue.unring(generation)
  // Taken over, it may be storing its pictures right now; canceled or expired, nobody will see ours.
  if (await ports.runs.hasFailed(generation.id).catch(() => false)) await discard(ports, generation)
  return 'lost'
}

async function discard({ images }: RunPorts, { slugs }: ClaimedGeneration): Promise<void> {
  for (const slug of slugs) await images.remove(slug).catch(() => undefined)
}

async function settle({ lock, queue }: RunPorts, generation: ClaimedGeneration): Promise<void> {
  if (!generation.metered) await lock.release(generation.accountId, generation.id)
  await failpoint('run.after_release')
  await queue.unring(generation)
}

/** Repeats a guarded write whose answer was lost; past the lease the guard turns it into nothing. */
const record = <T>(write: () => Promise<T>): Promise<T> => patiently(write, RECORD_FOR_MS)
