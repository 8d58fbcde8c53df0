import sharp from 'sharp'
import { MAX_SEED, parametersOf, SAMPLERS } from '../../core/generations/generation.js'
import { BackendError, type InferenceBackend, type InferredImage } from '../../core/generations/run/backend.js'
import { failure } from '../backend-failure.js'
import drawings from './drawings.json' with { type: 'json' }
import { landscape, portrait, softSky, stylesOf } from './landscape.js'
import { type Sketch, sceneOf } from './scene.js'
import { dice, placed } from './svg.js'

/**
 * A stand-in for machines without a GPU: landscapes and the like, drawn on the CPU in a moment and marked PREVIEW.
 * The same request gives the same bytes; each image depends on its own seed only, not on its batch.
 */
export function createPreviewBackend(): InferenceBackend {
  return {
    name: 'preview:',
    capabilities: async () => ({ models: null, samplers: SAMPLERS, maxSeed: MAX_SEED, sizeMultiple: 8 }),
    async generate(request, { signal, onProgress, onPreview }) {
      const { steps, seeds, sampler } = request
      const images: InferredImage[] = []
      let reported = -1
      const onDone = (share: number) => {
        if (signal.aborted) throw failure('canceled', 'the preview was canceled', signal.reason)
        const step = Math.floor((images.length + share) * steps + 1e-9)
        if (step > reported) onProgress?.(step / (steps * seeds.length))
        reported = step
      }
      try {
        for (const seed of seeds) {
          onDone(0)
          const bytes = await drawImage({ ...request, seed }, onDone)
          images.push({ bytes, seed, madeWith: { backend: 'preview', version: null, sampler, scheduler: null } })
          if (images.length < seeds.length) onPreview?.(bytes)
        }
        onDone(0)
      } catch (error) {
        if (error instanceof BackendError) throw error
        const message = `the preview could not be drawn: ${error}`
        throw new BackendError('backend_fault', message, 'The image could not be drawn; try again.', { cause: error })
      }
      return images
    },
    async close() {},
  }
}

/** Draws one image as a PNG. `onDone` gets the share that is done after each stage; an error that it throws ends the drawing. */
async function drawImage(sketch: Sketch, onDone: (share: number) => void): Promise<Buffer> {
  const { width, height } = sketch
  const scene = sceneOf(sketch)
  const view = `viewBox="0 0 ${scene.width} ${scene.height}" preserveAspectRatio="none"`
  onDone(0.15)
  const small = 200 / Math.max(width, height)
  const soft = await rendered(Math.ceil(width * small), Math.ceil(height * small), view, softSky(scene))
  onDone(0.3)
  const sky = `<image width="${scene.width}" height="${scene.height}" preserveAspectRatio="none"
href="data:image/png;base64,${soft.toString('base64')}"/>`
  const drawing = scene.place === 'portrait' ? portrait(scene, sky) : landscape(scene, sky)
  // The mark tells a stand-in from a model's image. It is drawn, so that no font matters.
  const dot = Math.max(1, Math.round(Math.min(width, height) / 420))
  const mark = placed(drawings.mark, width - 49 * dot, height - 15 * dot, 100 * dot)
  const body = `<svg ${view}>${stylesOf(scene)}${drawing}</svg>${grain(sketch)}${mark}`
  onDone(0.5)
  return rendered(width, height, '', body)
}

/** The file is published as it is compressed here: level 1 without adaptive filters would be twice as large. */
function rendered(width: number, height: number, view: string, body: string): Promise<Buffer> {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ${view}>${body}</svg>`
  return sharp(Buffer.from(svg), { unlimited: true })
    .removeAlpha()
    .png({ compressionLevel: 2, adaptiveFiltering: true })
    .toBuffer()
}

/** Grain that no two requests share; each sampler has its own size and direction of it. */
function grain(sketch: Sketch): string {
  const { prompt, negativePrompt, width, height, ...others } = parametersOf(sketch)
  // Without what is absent: a parameter that is new leaves the pictures of those who don't send it as they were.
  const settings = Object.values(others).filter((value) => value != null)
  const draw = dice(prompt, negativePrompt, sketch.model, sketch.seed, ...settings, width, height)
  const kind = SAMPLERS.indexOf(sketch.sampler)
  return `<filter id="grain" x="0" y="0" width="1" height="1" color-interpolation-filters="sRGB">
<feTurbulence type="fractalNoise" baseFrequency="${0.3 + (kind % 6) * 0.1} ${0.5 + Math.floor(kind / 6) * 0.2}"
seed="${draw.between(0, 9999)}"/><feColorMatrix
values="20 0 0 0 -10 20 0 0 0 -10 20 0 0 0 -10 0 .1 0 0 -.025"/></filter>
<pattern id="paper" width="128" height="128" patternUnits="userSpaceOnUse"><path d="M0 0h128v128h-128z"
filter="url(#grain)"/></pattern><rect width="100%" height="100%" fill="url(#paper)"/>`
}
