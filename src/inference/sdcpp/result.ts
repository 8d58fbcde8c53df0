import type { InferredImage } from '../../generation/run/backend.js'
import { failure } from '../backend-failure.js'
import { type Bad, drawnImage, fieldsOf } from '../drawn-image.js'
import { publicWords } from '../server-reply.js'
import type { Job } from './job.js'
import type { Asked } from './request.js'

/**
 * The images of a job that has ended. The job says nothing of how they were drawn; the images do, unless the server
 * was started with that switched off, and are held to what they say.
 * @throws BackendError `bad_output`, `model_missing` when another checkpoint drew them, or why there are none
 */
export async function readResult({ status, result, error }: Job, asked: Asked): Promise<InferredImage[]> {
  const { server, request, sampler, seeds } = asked
  if (status === 'cancelled') throw failure('backend_fault', `${server.name}: the job was canceled by someone else`)
  if (status === 'failed') {
    const words = publicWords(error?.message ?? '', [request.prompt, request.negativePrompt])
    throw failure(/out of memory/i.test(words) ? 'oom' : 'backend_fault', `${server.name} failed: ${words}`)
  }
  const bad: Bad = (what, cause) => failure('bad_output', `${server.name} ${what}`, cause)
  const images = [...(result?.images ?? [])].sort((one, other) => one.index - other.index)
  if (images.length !== seeds.length || images.some(({ index }, n) => index !== n))
    throw bad(`sent the images ${images.map(({ index }) => index)} of ${seeds.length}`)
  return Promise.all(
    images.map(async ({ b64_json }, n) => {
      const seed = seeds[n] as number
      const { bytes, infotext } = await drawnImage(b64_json, request, bad)
      if (infotext !== undefined) requireAsAsked(infotext, seed, asked, bad)
      const version = fieldsOf(infotext ?? '')('Version') ?? null
      const madeWith = { backend: 'sdcpp', version, sampler: sampler.name, scheduler: sampler.schedule ?? null }
      return { bytes, seed, madeWith }
    }),
  )
}

function requireAsAsked(infotext: string, seed: number, { server, request, sampler }: Asked, bad: Bad): void {
  const said = fieldsOf(infotext)
  const differs = (key: string, asked: string | undefined) => said(key) !== undefined && said(key) !== asked
  // A field ends at a comma, which a file's name may hold.
  const model = server.model.split(',')[0]
  if (said('Model') && differs('Model', model))
    throw failure('model_missing', `${server.name} drew with "${said('Model')}" instead of "${server.model}"`)
  if (differs('Seed', `${seed}`)) throw bad(`drew the seed ${said('Seed')} instead of ${seed}`)
  const method = `${sampler.name} ${sampler.schedule}`
  if (differs('Sampler', method)) throw bad(`sampled with "${said('Sampler')}" instead of "${method}"`)
  if (differs('Steps', `${request.steps}`)) throw bad(`took ${said('Steps')} steps instead of ${request.steps}`)
}
