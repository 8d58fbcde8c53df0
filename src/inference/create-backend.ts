import type { Logger } from 'pino'
import type { InferenceBackend } from '../generation/run/backend.js'
import { createA1111Backend } from './a1111/a1111-backend.js'
import { createComfyuiBackend } from './comfyui/comfyui-backend.js'
import { createOpenAiBackend } from './openai/openai-backend.js'
import { createPreviewBackend } from './preview/preview-backend.js'
import { createSdCppBackend } from './sdcpp/sdcpp-backend.js'

interface BackendOptions {
  /** One inference. */
  readonly timeoutMs: number
  readonly logger?: Logger
}

/**
 * The backend that one entry of INFERENCE_URL names, by its scheme.
 * @throws Error with a sentence that shows the scheme only, since the URL may hold a password
 */
export function createBackend(url: string, options: BackendOptions): InferenceBackend {
  const scheme = url.slice(0, Math.max(url.indexOf(':'), 0))
  switch (scheme) {
    case 'preview':
      return createPreviewBackend()
    case 'a1111+http':
    case 'a1111+https':
      return createA1111Backend(url, options)
    case 'comfyui+http':
    case 'comfyui+https':
      return createComfyuiBackend(url, options)
    case 'openai+http':
    case 'openai+https':
      return createOpenAiBackend(url, options)
    case 'sdcpp+http':
    case 'sdcpp+https':
      return createSdCppBackend(url, options)
    default:
      throw new Error(
        `There is no backend for the scheme "${scheme}" of INFERENCE_URL; use preview:, a1111+http://…, comfyui+http://…, openai+http://… or sdcpp+http://….`,
      )
  }
}
