import { setImmediate } from 'node:timers/promises'
import sharp from 'sharp'
import { MAX_SEED } from '../../generation/generation.js'
import {
  BackendError,
  type InferenceBackend,
  type InferenceRequest,
  type InferredImage,
} from '../../generation/run/backend.js'
import { SAMPLERS } from '../../generation/sampler.js'
import { drawPreview } from './picture.js'

/** A picture is about so many times its height in painted rows: what is in front is painted over what is behind. */
const ROWS_PER_HEIGHT = 6
/** The event loop waits no longer than this for a row to be painted. */
const TURN_MS = 8

/**
 * A stand-in for machines without a GPU: landscapes and the like, painted on the CPU in a fraction of a second and
 * marked PREVIEW. The same request gives the same bytes; each image depends on its own seed only, not on its batch.
 */
export function createPreviewBackend(): InferenceBackend {
  return {
    name: 'preview:',
    async capabilities() {
      return { models: null, samplers: SAMPLERS, maxSeed: MAX_SEED, sizeMultiple: 8 }
    },
    async generate(request, { signal, onProgress, onPreview }) {
      const images: InferredImage[] = []
      const madeWith = { backend: 'preview', version: null, sampler: request.sampler, scheduler: null }
      const report = risingReport(request, onProgress)
      try {
        for (const [i, seed] of request.seeds.entries()) {
          const bytes = await draw(request, seed, signal, (done) => report((i + done) / request.seeds.length))
          images.push({ bytes, seed, madeWith })
          if (images.length < request.seeds.length) onPreview?.(bytes)
        }
      } catch (error) {
        if (error instanceof BackendError) throw error
        throw new BackendError(
          'backend_fault',
          `the preview could not be drawn: ${error}`,
          'The picture could not be drawn; try again.',
          { cause: error },
        )
      }
      return images
    },
    async close() {},
  }
}

async function draw(
  request: InferenceRequest,
  seed: number,
  signal: AbortSignal,
  onDone: (done: number) => void,
): Promise<Buffer> {
  const painting = drawPreview({ ...request, seed })
  const { width, height } = request
  for (let turnEnds = 0, rows = 0; ; rows++) {
    if (performance.now() > turnEnds) {
      await setImmediate()
      if (signal.aborted) throw canceled(signal)
      turnEnds = performance.now() + TURN_MS
    }
    const step = painting.next()
    if (step.done) {
      const png = await sharp(step.value, { raw: { width, height, channels: 3 } })
        .png({ compressionLevel: 1, adaptiveFiltering: true })
        .toBuffer()
      if (signal.aborted) throw canceled(signal)
      onDone(1)
      return png
    }
    onDone(Math.min(0.95, rows / (ROWS_PER_HEIGHT * height)))
  }
}

const canceled = (signal: AbortSignal) =>
  new BackendError('canceled', 'the preview was canceled', 'The generation was canceled.', { cause: signal.reason })

/** Reports whole steps of each image, each value once. */
function risingReport({ steps, seeds }: InferenceRequest, onProgress: ((progress: number) => void) | undefined) {
  let reported = -1
  const total = steps * seeds.length
  return (done: number) => {
    const step = Math.floor(done * total + 1e-9)
    if (step <= reported) return
    reported = step
    onProgress?.(step / total)
  }
}
