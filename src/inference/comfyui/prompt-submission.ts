import { z } from 'zod'
import type { InferenceRequest } from '../../core/generations/run/backend.js'
import { withTimeLimit } from '../../lib/abort-signals.js'
import { failure, samplerUnavailable } from '../backend-failure.js'
import { describeUnexpected, parsedJson, publicWords, replyFailure } from '../server-reply.js'
import type { ComfyuiAsked } from './graph.js'
import { lookUp, markOf } from './prompt-history.js'

const LOOKUP_TIMEOUT_MS = 10_000

/**
 * Puts a prompt into the server's queue; its events go to `clientId`. `signal` outlives `stop`: a call that is cut off
 * may queue the prompt after the cancel has searched for it. `promptId` is the attempt's, but old versions give a prompt
 * one of their own.
 * `complaint`: why an accepted prompt must not run: a server skips images whose nodes it refuses, and draws the rest.
 * @throws BackendError, or `stop`'s reason; unless it is a refusal, the prompt may have been accepted
 */
export async function submitOnce(
  asked: ComfyuiAsked,
  clientId: string,
  stop: AbortSignal,
  signal: AbortSignal,
  answerMs: number,
) {
  const { http, request } = asked
  const late = () => failure('lost', `${http.name} did not say whether it took the prompt`)
  try {
    return await withTimeLimit(signal, answerMs, (limited) => submit(asked, clientId, limited), late)
  } catch (error) {
    stop.throwIfAborted()
    // Perhaps only the answer was lost; sent again, the same id would run twice.
    const look = (limited: AbortSignal) => lookUp(http, request.attemptId, limited)
    if ((await withTimeLimit(stop, LOOKUP_TIMEOUT_MS, look).catch(() => 'unknown')) === 'unknown') throw error
    return { promptId: request.attemptId, complaint: undefined }
  }
}

const text = z.string().nullish()
const nodeError = z.object({ type: z.string(), details: text, extra_info: z.object({ input_name: text }).nullish() })
const refusedNode = z.object({ class_type: text, errors: z.array(nodeError) })
/** By the node's id. Of an accepted prompt the server runs only the outputs without errors. */
const nodeErrors = z.record(z.string(), refusedNode).catch({})
const promptError = z.object({ type: z.string(), message: text, details: text })
const refusedPrompt = z.object({ error: promptError, node_errors: nodeErrors })
const accepted = z.object({ prompt_id: z.string().min(1), node_errors: nodeErrors })

async function submit({ http, request, graph }: ComfyuiAsked, clientId: string, signal: AbortSignal) {
  const ids = { client_id: clientId, prompt_id: request.attemptId }
  const prompt = { prompt: graph.nodes, ...ids, extra_data: markOf(request) }
  const { status, text } = await http.post('/prompt', prompt, signal)
  if (status !== 200) throw promptRefusal(http.name, request, status, text)
  const reply = parsedJson(text, accepted)
  if (!reply) {
    const answered = describeUnexpected(text, accepted, request)
    throw failure('bad_output', `${http.name} did not say whether it took the prompt: it answered with ${answered}`)
  }
  return { promptId: reply.prompt_id, complaint: nodeFailure(http.name, request, reply.node_errors) }
}

/** The error of a refused prompt; `text` is the body. */
function promptRefusal(server: string, request: InferenceRequest, status: number, text: string) {
  const refused = status === 400 ? parsedJson(text, refusedPrompt) : undefined
  if (!refused) return replyFailure(server, status, text, request)
  const { type, message, details } = refused.error
  const words = publicWords([type, message, details].filter(Boolean).join('; '), request)
  const complaint = nodeFailure(server, request, refused.node_errors)
  return complaint ?? failure('invalid_request', `${server} refused the prompt: ${words}`)
}

/** The error of complaints about a prompt's nodes; undefined when there are none. */
function nodeFailure(server: string, request: InferenceRequest, complaints: z.infer<typeof nodeErrors>) {
  const errors = Object.values(complaints).flatMap(({ class_type: node, errors }) =>
    errors.map(({ type, details, extra_info }) => ({ node, type, details, input: extra_info?.input_name ?? '' })),
  )
  if (errors.length === 0) return undefined
  const isMissing = (...inputs: string[]) =>
    errors.some(({ type, input }) => type === 'value_not_in_list' && inputs.includes(input))
  // A text node's details may repeat the text.
  const said = errors
    .map(({ node, type, input, details }) => [node, input, type, node !== 'CLIPTextEncode' && details])
    .map((parts) => parts.filter(Boolean).join(' '))
    .join('; ')
  const words = publicWords(said, request)
  if (isMissing('ckpt_name')) return failure('model_missing', `${server} refused the checkpoint: ${words}`)
  if (isMissing('sampler_name', 'scheduler')) return samplerUnavailable(server, request.sampler)
  return failure('invalid_request', `${server} refused the prompt: ${words}`)
}
