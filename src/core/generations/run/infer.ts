import { randomUUID } from 'node:crypto'
import { whenAborted, windUp } from '../../../lib/abort-signals.js'
import { parametersOf, seedsOf } from '../generation.js'
import { PREVIEWS_EVERY_MS, type PreviewBoard, type ProgressBoard } from '../ports.js'
import { BackendError, type InferenceBackend, type InferredImage } from './backend.js'
import type { GpuTurn } from './gpu-slot.js'
import type { ClaimedGeneration, RunStore } from './ports.js'

const PROGRESS_EVERY_MS = 250
/** How long a backend may take to stop after an abort. */
const ABORT_GRACE_MS = 6000

interface InferPorts {
  readonly runs: Pick<RunStore, 'currentAttempt'>
  readonly progress: ProgressBoard
  readonly previews: PreviewBoard
}

/** Runs the inference. The GPU's turn ends when everything is drawn; after a failure, when the attempt has ended. */
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
  let waitsFor = 0
  const onWaiting = (before: number) => {
    if (before === waitsFor) return
    waitsFor = before
    if (before > 0) turn.waits()
    else turn.begun()
    show(-1 - before)
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
  turn.begun()
  // Overwrites the progress of the attempt before.
  if (generation.attempt > 1) show(-1)
  const request = {
    ...parametersOf(generation),
    ...{ attemptId: randomUUID(), attempt: `${id}-${generation.attempt}` },
    ...{ model: generation.filename, seeds: seedsOf(seed, batchSize) },
  }
  const options = {
    ...{ signal: stop, onWaiting, onProgress, onPreview },
    ...{ onDrawn: () => turn.over(), hasEnded: (name: string) => hasEnded(runs, name) },
  }
  const inferred = await orGiveUp(backend.generate(request, options), stop)
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
