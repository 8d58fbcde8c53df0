import { z } from 'zod'
import type { BackendError, InferenceRequest } from '../../generation/run/backend.js'
import { failure } from '../backend-failure.js'
import type { ServerHttp } from '../server-http.js'
import { nodeErrorsOf, nodeFailure, promptRefusal } from './comfyui-failure.js'
import type { Graph } from './graph.js'

export interface Asked {
  readonly request: InferenceRequest
  readonly graph: Graph
  /** The server's; null where it tells none. */
  readonly version: string | null
}

export interface Submitted {
  /** The attempt's id; old versions give a prompt one of their own. */
  readonly promptId: string
  /** Why it must not run as it was taken: a server leaves out the images whose nodes it refuses, and draws the rest. */
  readonly complaint: BackendError | undefined
}

/** Marks what we send: the server shows with each prompt in its queue who sent it. */
const OURS = 'easel:'

export const clientOf = ({ attempt }: InferenceRequest): string => OURS + attempt

/** The attempt's name, or undefined where the client is not one of ours. */
export const attemptOf = (client: unknown): string | undefined =>
  typeof client === 'string' && client.startsWith(OURS) ? client.slice(OURS.length) : undefined

const accepted = z.object({ prompt_id: z.string().min(1), node_errors: z.unknown() })

/**
 * Puts a prompt into the server's queue.
 * @throws BackendError; the prompt may have been taken all the same unless that is a refusal
 */
export async function submit(http: ServerHttp, { request, graph }: Asked, signal: AbortSignal): Promise<Submitted> {
  const { attemptId } = request
  const prompt = { prompt: graph.nodes, client_id: clientOf(request), prompt_id: attemptId }
  const { status, text } = await http.post('/prompt', prompt, signal)
  if (status !== 200) throw promptRefusal(http.name, request, status, text)
  const { prompt_id: promptId, node_errors: errors } = acceptedReply(http.name, text)
  return { promptId, complaint: nodeFailure(http.name, request, nodeErrorsOf(errors)) }
}

function acceptedReply(server: string, text: string): z.infer<typeof accepted> {
  try {
    return accepted.parse(JSON.parse(text))
  } catch {
    throw failure('bad_output', `${server} did not say whether it took the prompt`)
  }
}
