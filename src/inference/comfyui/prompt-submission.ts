import { z } from 'zod'
import { withTimeLimit } from '../../lib/abort-signals.js'
import { failure, samplerUnavailable } from '../backend-failure.js'
import { briefly } from '../out-of-memory.js'
import { describeUnexpected, parsedJson, publicWords, replyFailure } from '../server-reply.js'
import type { ComfyuiAsked } from './graph.js'
import { lookUp, markOf } from './prompt-history.js'
import { eachTime, readsText } from './prompt-result.js'

const LOOKUP_TIMEOUT_MS = 10_000
/** Newer servers draw previews for a prompt that asks for them, whatever they were started with. */
const PREVIEWS = { preview_method: 'auto' }
/** A class that the server does not have, in the words of its versions. */
const NO_SUCH_NODE = /missing_node_type|node \S+ does not exist|node type .* not found/i

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

async function submit(asked: ComfyuiAsked, clientId: string, signal: AbortSignal) {
  const { http, request, graph } = asked
  const ids = { client_id: clientId, prompt_id: request.attemptId }
  const prompt = { prompt: graph.nodes, ...ids, extra_data: { ...markOf(request), ...PREVIEWS } }
  const { status, text } = await http.post('/prompt', prompt, signal)
  if (status !== 200) throw promptRefusal(asked, status, text)
  const reply = parsedJson(text, accepted)
  if (!reply) {
    const answered = describeUnexpected(text, accepted, request)
    throw failure('bad_output', `${http.name} did not say whether it took the prompt: it answered with ${answered}`)
  }
  return { promptId: reply.prompt_id, complaint: nodeFailure(asked, reply.node_errors) }
}

/** The error of a refused prompt; `text` is the body. */
function promptRefusal(asked: ComfyuiAsked, status: number, text: string) {
  const { request } = asked
  const server = asked.http.name
  const refused = status === 400 ? parsedJson(text, refusedPrompt) : undefined
  if (!refused) return replyFailure(server, status, text, request)
  const { type, message, details } = refused.error
  const words = publicWords([type, message, details].filter(Boolean).join('; '), request)
  // One that needs no such node was found to have all of them.
  if ('workflow' in asked.model && NO_SUCH_NODE.test(briefly(`${type}: ${message}`)))
    return failure('model_missing', `${server} lacks a node of the workflow: ${words}`)
  const complaint = nodeFailure(asked, refused.node_errors)
  return complaint ?? failure('invalid_request', `${server} refused the prompt: ${words}`)
}

/** The error of complaints about a prompt's nodes; undefined when there are none. */
function nodeFailure({ http, request, graph, model }: ComfyuiAsked, complaints: z.infer<typeof nodeErrors>) {
  const server = http.name
  const errors = Object.entries(complaints).flatMap(([id, { class_type: node, errors }]) =>
    errors.map(({ type, details, extra_info }) => ({ id, node, type, details, input: extra_info?.input_name ?? '' })),
  )
  if (errors.length === 0) return undefined
  const isMissing = (...inputs: string[]) =>
    errors.some(({ type, input }) => type === 'value_not_in_list' && inputs.includes(input))
  // A text node's details may repeat the text.
  const said = errors
    .map(({ node, type, input, details }) => [node, input, type, !readsText(node ?? '') && details])
    .map((parts) => parts.filter(Boolean).join(' '))
    .join('; ')
  const words = publicWords(said, request)
  if (isMissing('ckpt_name')) return failure('model_missing', `${server} refused the checkpoint: ${words}`)
  const isWritten = (id: string, input: string) => graph.written.some((slot) => slot[0] === id && slot[1] === input)
  // What the workflow itself wants is a file or a node of another version.
  const lacks = ({ id, type, input }: (typeof errors)[number]) =>
    ['value_not_in_list', 'required_input_missing', 'custom_validation_failed'].includes(type) && !isWritten(id, input)
  if ('workflow' in model && errors.some(lacks))
    return failure('model_missing', `${server} lacks what the workflow needs: ${words}`)
  // An update of a node may have changed what comes in or goes out: it is so for all requests.
  if ('workflow' in model && errors.every(({ id, input }) => !isWritten(id, input)))
    return eachTime(server, `refused the prompt: ${words}`)
  if (isMissing('sampler_name', 'scheduler')) return samplerUnavailable(server, request.sampler)
  return failure('invalid_request', `${server} refused the prompt: ${words}`)
}
