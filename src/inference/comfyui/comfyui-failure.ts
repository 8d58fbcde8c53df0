import { z } from 'zod'
import type { BackendError, InferenceRequest } from '../../generation/run/backend.js'
import { failure, samplerUnavailable } from '../backend-failure.js'
import { parsedJson, publicWords, replyFailure } from '../server-reply.js'
import type { HistoryEntry } from './prompt-history.js'

const nodeError = z.object({
  type: z.string(),
  details: z.string().nullish(),
  extra_info: z.object({ input_name: z.string().nullish() }).nullish(),
})
/** By the node's id. Of an accepted prompt the server runs only the outputs without errors. */
export const nodeErrors = z
  .record(z.string(), z.object({ class_type: z.string().nullish(), errors: z.array(nodeError) }))
  .catch({})
const refusedPrompt = z.object({
  error: z.object({ type: z.string(), message: z.string().nullish(), details: z.string().nullish() }),
  node_errors: nodeErrors,
})

/** The error of a refused prompt; `text` is the body. */
export function promptRefusal(server: string, request: InferenceRequest, status: number, text: string): BackendError {
  const prompts = [request.prompt, request.negativePrompt]
  const refused = status === 400 ? parsedJson(text, refusedPrompt) : undefined
  if (!refused) return replyFailure(server, status, text, prompts)
  const { type, message, details } = refused.error
  const words = publicWords([type, message, details].filter(Boolean).join('; '), prompts)
  return (
    nodeFailure(server, request, refused.node_errors) ??
    failure('invalid_request', `${server} refused the prompt: ${words}`)
  )
}

/** The error of complaints about a prompt's nodes; undefined when there are none. */
export function nodeFailure(
  server: string,
  { sampler, prompt, negativePrompt }: InferenceRequest,
  complaints: z.infer<typeof nodeErrors>,
): BackendError | undefined {
  const errors = Object.values(complaints).flatMap((node) =>
    node.errors.map((error) => ({ ...error, node: node.class_type ?? '', input: error.extra_info?.input_name ?? '' })),
  )
  if (errors.length === 0) return undefined
  const isMissing = (...inputs: string[]) =>
    errors.some(({ type, input }) => type === 'value_not_in_list' && inputs.includes(input))
  // A text node's details may repeat the text.
  const said = errors
    .map(({ node, type, input, details }) => [node, input, type, node === 'CLIPTextEncode' ? '' : details])
    .map((parts) => parts.filter(Boolean).join(' '))
    .join('; ')
  const words = publicWords(said, [prompt, negativePrompt])
  if (isMissing('ckpt_name')) return failure('model_missing', `${server} refused the checkpoint: ${words}`)
  if (isMissing('sampler_name', 'scheduler')) return samplerUnavailable(server, sampler)
  return failure('invalid_request', `${server} refused the prompt: ${words}`)
}

const executionError = z.object({
  node_type: z.string().catch(''),
  exception_type: z.string().catch(''),
  exception_message: z.string().catch(''),
})

/** The error of a prompt that ran and did not succeed. */
export function endFailure(server: string, request: InferenceRequest, { status }: HistoryEntry): BackendError {
  const error = status.messages.find(({ type }) => type === 'execution_error')
  if (error) return executionFailure(server, request, error.data)
  const interrupted = status.messages.some(({ type }) => type === 'execution_interrupted')
  return failure('backend_fault', `${server} ${interrupted ? 'was interrupted by someone else' : 'failed to say why'}`)
}

/** The error of an `execution_error`; `data` is the event's. */
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
  // A damaged file, or one without a text encoder or a decoder, is no checkpoint, although it is listed.
  if (node === 'CheckpointLoaderSimple' || noSuchPart) return failure('model_missing', said)
  return failure('backend_fault', said)
}
