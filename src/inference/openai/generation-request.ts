import type { InferenceRequest } from '../../generation/run/backend.js'
import { withoutExtraArgs } from '../sd-cpp-extra-args.js'
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

export type GenerationBody = ReturnType<typeof generationBody>
