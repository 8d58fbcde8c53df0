import type { InferenceRequest } from '../../generation/backend.js'
import { withoutExtraArgs } from '../sd-cpp-extra-args.js'

/**
 * The body of POST /v1/images/generations for one image. Each server reads some of the names of what OpenAI's API does
 * not have, and ignores the others: `step` is LocalAI's, `num_inference_steps` and `guidance_scale` are vLLM-Omni's and
 * SGLang's.
 */
export const generationBody = (request: InferenceRequest, model: string, seed: number) => ({
  model,
  prompt: withoutExtraArgs(request.prompt),
  negative_prompt: withoutExtraArgs(request.negativePrompt),
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

export type GenerationBody = ReturnType<typeof generationBody>
