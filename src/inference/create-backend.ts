import type { InferenceBackend } from '../core/generations/run/backend.js'
import { type A1111Options, createA1111Backend } from './a1111/a1111-backend.js'
import { createComfyuiBackend } from './comfyui/comfyui-backend.js'
import { createOpenAiBackend } from './openai/openai-backend.js'
import { createPreviewBackend } from './preview/preview-backend.js'
import { createSdCppBackend } from './sdcpp/sdcpp-backend.js'
import type { NeededModels } from './server-backend.js'
import { type ServerKind, serverEntries } from './server-kinds.js'

type BackendOptions = NeededModels & Pick<A1111Options, 'timeoutMs' | 'logger' | 'wanted'>

const CREATE: Record<ServerKind, (url: string, options: BackendOptions) => InferenceBackend> = {
  comfyui: createComfyuiBackend,
  a1111: createA1111Backend,
  sdcpp: createSdCppBackend,
  openai: createOpenAiBackend,
}
const KINDS = new Map(Object.entries(CREATE))

/** The backend of an entry of INFERENCE_URL. @throws Error that shows the scheme only: the URL may hold a password */
export function createBackend(url: string, options: BackendOptions): InferenceBackend {
  const scheme = url.slice(0, Math.max(url.indexOf(':'), 0))
  const create = KINDS.get(/^(.*)\+https?$/.exec(scheme)?.[1] ?? '')
  if (create) return create(url, options)
  if (scheme === 'preview') return createPreviewBackend()
  throw new Error(`There is no backend for the scheme "${scheme}" of INFERENCE_URL; use preview:, ${serverEntries()}.`)
}
