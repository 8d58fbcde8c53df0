import { randomUUID } from 'node:crypto'
import { linkedSignal, whenAborted, windUp } from '../../../lib/abort-signals.js'
import { parametersOf, seedsOf } from '../generation.js'
import { PREVIEWS_EVERY_MS, type PreviewBoard, type ProgressBoard } from '../ports.js'
import { BackendError, type InferenceBackend, type InferredImage, isServerFault } from './backend.js'
import { type GpuTurn, TURN_TIMEOUT_MS } from './gpu-slot.js'
import type { ClaimedGeneration, RunStore } from './ports.js'

const PROGRESS_EVERY_MS = 250
/** How long a backend may take to stop after an abort. */
const ABORT_GRACE_MS = 6000

interface InferPorts {
  readonly runs: Pick<RunStore, 'currentAttempt'>
  readonly progress: ProgressBoard
  readonly previews: PreviewBoard
}

/** The attempt waited in the server behind the one before it, and never began. */
export class GpuNotFree extends Error {}

/**
 * Runs the inference. The GPU's turn ends when everything is drawn; after a failure, when the attempt has ended.
 * @throws GpuNotFree; what the backend throws; `stop`'s reason
 */
export async function infer(
  { runs, progress, previews }: InferPorts,
  backend: InferenceBackend,
  generation: ClaimedGeneration,
  stop: AbortSignal,
  turn: GpuTurn,
): Promise<InferredImage[]> {
  const { id, seed, batchSize } = generation
  let shownAt = 0
  const show = (value: number) => void progress.set(id, generation.attempt, value).catch(() => undefined)
  let waitsFor = turn.after === undefined ? 0 : undefined
  const onWaiting = (before: number) => {
    if (before === waitsFor) return
    const isFirst = waitsFor === undefined
    waitsFor = before
    early.forget()
    if (before > 0) turn.waits()
    else turn.begun()
    // No wait was shown of one that now has its turn.
    if (before > 0 || !isFirst) show(-1 - before)
  }
  const onProgress = (fraction: number) => {
    onWaiting(0)
    turn.progressed(fraction)
    if (performance.now() - shownAt < PROGRESS_EVERY_MS) return
    shownAt = performance.now()
    show(Math.max(0, Math.min(1, fraction)))
  }
  let nextPreviewAt = 0
  const onPreview = (image: Buffer) => {
    if (performance.now() < nextPreviewAt) return
    // One write at a time.
    nextPreviewAt = Number.POSITIVE_INFINITY
    const readyAt = performance.now() + PREVIEWS_EVERY_MS
    const stored = previews.set(id, generation.attempt, image).catch(() => undefined)
    void stored.then(() => {
      nextPreviewAt = readyAt
    })
  }
  stop.throwIfAborted()
  const early = tooEarly(stop, turn)
  if (turn.after === undefined) turn.begun()
  // Overwrites the progress of the attempt before.
  if (generation.attempt > 1) show(-1)
  const request = {
    ...parametersOf(generation),
    ...{ attemptId: randomUUID(), attempt: `${id}-${generation.attempt}` },
    ...{ model: generation.filename, seeds: seedsOf(seed, batchSize) },
  }
  const options = {
    ...{ signal: early.signal, after: turn.after, onWaiting, onProgress, onPreview },
    ...{ onDrawn: () => turn.over(), hasEnded: (name: string) => hasEnded(runs, name) },
  }
  const inferred = await orGiveUp(backend.generate(request, options), early.signal)
    .catch((error) => {
      // The server's fault befell the one that it drew, or is seen when this one is asked for by itself.
      const isInnocent = waitsFor === undefined && !stop.aborted && (early.signal.aborted || isServerFault(error))
      throw isInnocent ? new GpuNotFree('the server did not begin the attempt', { cause: error }) : error
    })
    .finally(early.clear)
  turn.over()
  if (inferred.length !== batchSize) {
    throw new BackendError(
      'bad_output',
      `the backend returned ${inferred.length} images instead of ${batchSize}`,
      'The GPU server returned an incomplete result. Please submit it again.',
    )
  }
  return inferred
}

/** Ends an inference that has not begun after a while, because the server still draws the one before. */
function tooEarly(stop: AbortSignal, { after }: GpuTurn) {
  const late = new AbortController()
  const { signal, clear } = linkedSignal([stop, late.signal])
  const timer = after && setTimeout(() => late.abort(), TURN_TIMEOUT_MS)
  const forget = () => clearTimeout(timer)
  void after?.then(forget)
  return {
    ...{ signal, forget },
    clear() {
      forget()
      clear()
    },
  }
}

async function hasEnded(runs: InferPorts['runs'], name: string): Promise<boolean> {
  const [, id, attempt] = /^(gen_\w+)-(\d+)$/.exec(name) ?? []
  const now = id === undefined ? undefined : await runs.currentAttempt(id)
  return now !== undefined && !(now.status === 'processing' && now.attempt === Number(attempt))
}

/** A backend that ignores the abort must not block the worker. */
async function orGiveUp<T>(work: Promise<T>, stop: AbortSignal): Promise<T> {
  const grace = windUp(stop, ABORT_GRACE_MS)
  const late = whenAborted(grace.signal).then(() => Promise.reject(stop.reason))
  late.catch(() => undefined)
  try {
    return await Promise.race([work, late])
  } finally {
    // A listener left on `stop` would keep the images in memory.
    grace.clear()
    work.catch(() => undefined)
  }
}
