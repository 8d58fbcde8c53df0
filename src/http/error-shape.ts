import { errorBody as createImageErrorBody } from './create-image-api/envelope.js'
import { isOpenAiPath, openAiErrorBody } from './create-image-api/openai-envelope.js'
import type { BodyOf } from './errors.js'
import { errorBody as personalErrorBody } from './personal-api/envelope.js'

/** The error body of the interface that a request's target belongs to; what lies outside both speaks the Personal API's. */
export const bodyFor = (target: string): BodyOf => {
  const path = target.replace(/^https?:\/\/[^/?]*/i, '')
  if (isOpenAiPath(path)) return openAiErrorBody
  return /^\/v1(\/|\?|$)/.test(path) ? createImageErrorBody : personalErrorBody
}
