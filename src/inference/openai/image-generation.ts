import { z } from 'zod'
import type { InferenceRequest } from '../../generation/run/backend.js'
import { badOutput, failure } from '../backend-failure.js'
import { drawnImage, fieldsOf } from '../drawn-image.js'
import type { Asked, Call } from '../server-backend.js'
import type { ServerHttp } from '../server-http.js'
import { jsonReply } from '../server-reply.js'

const generationReply = z.object({
  data: z.array(z.object({ b64_json: z.string().nullish() })),
  model: z.string().nullish(),
})

/**
 * Draws one image. The replies name no seed or sampler, but the image may: a wrong seed is refused, to detect a server
 * that ignores seeds.
 * @throws BackendError, or the signal's reason when it aborted
 */
export async function infer(http: ServerHttp, asked: Asked<unknown>, { stop, drawn }: Call, isPiped: boolean) {
  const { model, sampler } = asked
  const seed = asked.seeds[0] as number
  const request = withSafeTexts(asked.request, isPiped)
  const body = generationBody({ ...asked, request }, isPiped)
  const reply = await http.post('/images/generations', body, stop, (status) => {
    if (status === 200) drawn()
  })
  const { data, model: drawnBy } = jsonReply(http.name, reply, generationReply, request)
  if (drawnBy && drawnBy !== model)
    throw failure('model_missing', `${http.name} drew with "${drawnBy}" instead of "${model}"`)
  const bad = badOutput(http.name)
  const [image, ...others] = data
  if (!image || others.length > 0) throw bad(`sent ${data.length} images instead of 1`)
  if (!image.b64_json) throw bad('sent no image data')
  const { bytes, infotext = '' } = await drawnImage(image.b64_json, request, bad)
  const drawnSeed = fieldsOf(infotext)('Seed')
  if (drawnSeed !== undefined && drawnSeed !== `${seed}`) throw bad(`drew the seed ${drawnSeed} instead of ${seed}`)
  // The sampler is what the operator has declared: the API has no field for it, nor for a version.
  return [{ bytes, seed, madeWith: { backend: 'openai', version: null, sampler: sampler.name, scheduler: null } }]
}

/**
 * The body of POST /v1/images/generations for one image. Each server reads some of the names of what OpenAI's API does
 * not have, and ignores the others: `step` is LocalAI's, `num_inference_steps` and `guidance_scale` are vLLM-Omni's and
 * SGLang's.
 */
const generationBody = ({ request, model, seeds }: Asked<unknown>, isPiped: boolean) => ({
  model,
  prompt: isPiped && request.negativePrompt ? `${request.prompt}|${request.negativePrompt}` : request.prompt,
  negative_prompt: request.negativePrompt,
  n: 1,
  size: `${request.width}x${request.height}`,
  response_format: 'b64_json',
  output_format: 'png',
  seed: seeds[0],
  steps: request.steps,
  step: request.steps,
  num_inference_steps: request.steps,
  cfg_scale: request.cfgScale,
  guidance_scale: request.cfgScale,
})

function withSafeTexts(request: InferenceRequest, isPiped: boolean): InferenceRequest {
  // A user's own | would end the prompt and turn its rest into the negative one.
  const safe = (text: string) => withoutExtraArgs(isPiped ? text.replaceAll('|', ',') : text)
  return { ...request, prompt: safe(request.prompt), negativePrompt: safe(request.negativePrompt) }
}

/**
 * Removes the tag whose JSON stable-diffusion.cpp's compatible APIs obey: a user could change size, count and seed.
 * Recursive, because what is left may form the tag again.
 */
function withoutExtraArgs(prompt: string): string {
  const withoutElements = prompt.replace(/<sd_cpp_extra_args>.*?<\/sd_cpp_extra_args>/gs, '')
  const without = withoutElements === prompt ? prompt.replace(/<\/?sd_cpp_extra_args>/g, '') : withoutElements
  return without === prompt ? prompt : withoutExtraArgs(without)
}
