import { z } from 'zod'
import type { InferenceRequest, InferredImage } from '../../generation/run/backend.js'
import { failure } from '../backend-failure.js'
import { type Bad, drawnImage, fieldsOf } from '../drawn-image.js'
import { withoutExtraArgs } from '../sd-cpp-extra-args.js'
import type { HttpReply } from '../server-http.js'
import { jsonReply } from '../server-reply.js'
import type { Declaration } from './declaration.js'

/**
 * The body of POST /v1/images/generations for one image. Each server reads some of the names of what OpenAI's API does
 * not have, and ignores the others: `step` is LocalAI's, `num_inference_steps` and `guidance_scale` are vLLM-Omni's and
 * SGLang's.
 */
export const generationBody = (
  request: InferenceRequest,
  model: string,
  seed: number,
  negative: Declaration['negative'] = 'field',
) => ({
  model,
  ...textsOf(request, negative),
  n: 1,
  size: `${request.width}x${request.height}`,
  response_format: 'b64_json',
  output_format: 'png',
  seed,
  steps: request.steps,
  step: request.steps,
  num_inference_steps: request.steps,
  cfg_scale: request.cfgScale,
  guidance_scale: request.cfgScale,
})

function textsOf(request: InferenceRequest, negative: Declaration['negative']) {
  const texts = [request.prompt, request.negativePrompt].map(withoutExtraArgs)
  // A user's own | would cut the prompt off and put its rest in the place of the negative one.
  const [prompt = '', negative_prompt = ''] =
    negative === 'pipe' ? texts.map((text) => text.replaceAll('|', ',')) : texts
  return { prompt: negative === 'pipe' && negative_prompt ? `${prompt}|${negative_prompt}` : prompt, negative_prompt }
}

type GenerationBody = ReturnType<typeof generationBody>

const generationReply = z.object({
  data: z.array(z.object({ b64_json: z.string().nullish() })),
  model: z.string().nullish(),
})

/**
 * The image of a 200. These replies say nothing of seed or sampler; where the image itself names its seed, it is held
 * to that, so that a server which ignores seeds is found out.
 * @throws BackendError
 */
export async function readGeneration(
  server: string,
  reply: HttpReply,
  { width, height, sampler }: InferenceRequest,
  { model, seed, prompt, negative_prompt }: GenerationBody,
): Promise<InferredImage> {
  const { data, model: drawnBy } = jsonReply(server, reply, {
    shape: generationReply,
    prompts: [promptAlone(prompt, negative_prompt), negative_prompt],
  })
  if (drawnBy && drawnBy !== model)
    throw failure('model_missing', `${server} drew with "${drawnBy}" instead of "${model}"`)
  const bad: Bad = (what, cause) => failure('bad_output', `${server} ${what}`, cause)
  const [image, ...others] = data
  if (!image || others.length > 0) throw bad(`sent ${data.length} images instead of 1`)
  if (!image.b64_json) throw bad('sent no image data')
  const { bytes, infotext } = await drawnImage(image.b64_json, { width, height }, bad)
  const drawn = fieldsOf(infotext ?? '')('Seed')
  if (drawn !== undefined && drawn !== `${seed}`) throw bad(`drew the seed ${drawn} instead of ${seed}`)
  // What the operator has declared: the API has no word for a sampler, nor for a version.
  return { bytes, seed, madeWith: { backend: 'openai', version: null, sampler, scheduler: null } }
}

/** Without the negative prompt behind it: a server may repeat the one without the other. */
const promptAlone = (prompt: string, negative: string) =>
  negative && prompt.endsWith(`|${negative}`) ? prompt.slice(0, -negative.length - 1) : prompt
