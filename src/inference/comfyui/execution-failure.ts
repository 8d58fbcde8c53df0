import { z } from 'zod'
import type { BackendError, InferenceRequest } from '../../generation/run/backend.js'
import { failure } from '../failure.js'
import { publicWords } from '../reply-failure.js'
import type { HistoryEntry } from './prompt-history.js'

const executionError = z.object({
  node_type: z.string().catch(''),
  exception_type: z.string().catch(''),
  exception_message: z.string().catch(''),
})

/** Why a prompt that ran did not succeed. */
export function endFailure(server: string, request: InferenceRequest, { status }: HistoryEntry): BackendError {
  const error = status.messages.find(({ type }) => type === 'execution_error')
  if (error) return executionFailure(server, request, error.data)
  const interrupted = status.messages.some(({ type }) => type === 'execution_interrupted')
  return failure('backend_fault', `${server} ${interrupted ? 'was interrupted by someone else' : 'failed to say why'}`)
}

/** What an `execution_error` means; `data` is the event's. */
export function executionFailure(
  server: string,
  { prompt, negativePrompt }: InferenceRequest,
  data: Record<string, unknown>,
): BackendError {
  const { node_type: node, exception_type: type, exception_message: text } = executionError.parse(data)
  const noSuchPart = /^ERROR: (clip input|VAE) is invalid/i.test(text)
  // An error while encoding a text may repeat the text.
  const words = node === 'CLIPTextEncode' && !noSuchPart ? '' : (text.trim().split('\n')[0] ?? '')
  const shown = publicWords(words, [prompt, negativePrompt])
  const said = `${server} failed in ${node}: ${type}${shown && `: ${shown}`}`
  if (type.endsWith('OutOfMemoryError') || /out of memory/i.test(text)) return failure('oom', said)
  // A file that is damaged, or has no text encoder or no decoder in it: no checkpoint, whatever the listing says.
  if (node === 'CheckpointLoaderSimple' || noSuchPart) return failure('model_missing', said)
  return failure('backend_fault', said)
}
