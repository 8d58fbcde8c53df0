import { z } from 'zod'
import { timeLimit } from '../../abort-signals.js'
import type { BackendError, InferenceRequest } from '../../generation/run/backend.js'
import { failure } from '../backend-failure.js'
import { probe } from '../recognize.js'
import type { ServerHttp } from '../server-http.js'
import { parsedJson } from '../server-reply.js'
import { nodeErrors, nodeFailure, promptRefusal } from './comfyui-failure.js'
import type { Graph } from './graph.js'
import { lookUp } from './prompt-history.js'

export interface Asked {
  readonly request: InferenceRequest
  readonly graph: Graph
  /** The server's; null where it reports none. */
  readonly version: string | null
}

interface Submitted {
  /** The attempt's id; old versions give a prompt one of their own. */
  readonly promptId: string
  /** Why the accepted prompt must not run: a server skips images whose nodes it refuses, and draws the rest. */
  readonly complaint: BackendError | undefined
}

/** Marks our prompts: the server's queue shows the client of each. */
const OURS = 'easel:'

export const clientOf = ({ attempt }: InferenceRequest): string => OURS + attempt

/** The attempt's name, or undefined where the client is not one of ours. */
export const attemptOf = (client: unknown): string | undefined =>
  typeof client === 'string' && client.startsWith(OURS) ? client.slice(OURS.length) : undefined

const LOOKUP_TIMEOUT_MS = 10_000

/**
 * Puts a prompt into the server's queue. `signal` outlives `stop`: a call that is cut off may queue the prompt after
 * the cancel has searched for it.
 * @throws BackendError, or `stop`'s reason; unless it is a refusal, the prompt may have been accepted
 */
export async function submitOnce(
  http: ServerHttp,
  asked: Asked,
  { stop, signal, answerMs }: { readonly stop: AbortSignal; readonly signal: AbortSignal; readonly answerMs: number },
): Promise<Submitted> {
  const limit = timeLimit(signal, answerMs)
  try {
    return await submit(http, asked, limit.signal)
  } catch (error) {
    stop.throwIfAborted()
    // Perhaps only the answer was lost; sent again, the same id would run twice.
    const { attemptId } = asked.request
    const looked = { http, signal: stop, timeoutMs: LOOKUP_TIMEOUT_MS }
    const found = await probe(looked, (signal) => lookUp(http, attemptId, signal)).catch(() => 'unknown')
    if (found !== 'unknown') return { promptId: attemptId, complaint: undefined }
    throw limit.isOver() ? failure('lost', `${http.name} did not say whether it took the prompt`) : error
  } finally {
    limit.clear()
  }
}

const accepted = z.object({ prompt_id: z.string().min(1), node_errors: nodeErrors })

async function submit(http: ServerHttp, { request, graph }: Asked, signal: AbortSignal): Promise<Submitted> {
  const prompt = { prompt: graph.nodes, client_id: clientOf(request), prompt_id: request.attemptId }
  const { status, text } = await http.post('/prompt', prompt, signal)
  if (status !== 200) throw promptRefusal(http.name, request, status, text)
  const reply = parsedJson(text, accepted)
  if (!reply) throw failure('bad_output', `${http.name} did not say whether it took the prompt`)
  return { promptId: reply.prompt_id, complaint: nodeFailure(http.name, request, reply.node_errors) }
}
