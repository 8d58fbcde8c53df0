import { createHash, randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import { AppError } from '../core/errors.js'
import { cancelGeneration } from '../core/generations/cancel.js'
import { CANCELED } from '../core/generations/failure-reason.js'
import type { Polled } from '../core/generations/follow/poll.js'
import type { KeyRevoked } from '../http/shared/authentication.js'
import { toAppError } from '../http/shared/error-responses.js'
import type { App } from '../http/shared/fastify-app.js'
import { clientGone } from '../http/shared/responses.js'
import { imageAnswerLimit, runningCalls } from './call-limits.js'
import { type GenerationToolOptions, generationTools, stateOf } from './generation-tools.js'
import { libraryTools } from './library-tools.js'
import { loadProtocol, type Protocol, type Tell } from './protocol.js'
import { refusal, type Tool, type ToolResult } from './tool.js'

export interface McpEndpointOptions extends Omit<GenerationToolOptions, 'pageUrl'> {
  readonly baseUrl: string
}

/** What the endpoint itself reads of a message; the protocol checks all of it. */
interface Message {
  readonly method?: unknown
  readonly id?: unknown
  readonly params?: { readonly name?: unknown; readonly requestId?: unknown } | null
}

/**
 * `POST /mcp`: the Model Context Protocol for agents, with the keys, limits and rules of the Personal Access API. A
 * client that hangs up has not canceled: its generation goes on. `notifications/cancelled` cancels it, with the refund.
 */
export function mcpEndpoint(app: App, options: McpEndpointOptions, keyRevoked: KeyRevoked): void {
  const { ports, baseUrl } = options
  const tools = [...generationTools({ ...options, pageUrl: app.pageUrl }), ...libraryTools(ports, app.pageUrl)]
  const calls = runningCalls()
  const images = imageAnswerLimit()
  let loading: Promise<Protocol> | undefined
  const protocol = () => {
    loading ??= loadProtocol(tools, app.site.name).catch((error) => {
      loading = undefined
      throw error
    })
    return loading
  }

  /** If the call runs on another server, its generation is found by the request's name. */
  const cancel = async (accountId: string, requestKey: string) => {
    if (calls.cancel(accountId, requestKey)) return
    const id = await ports.idempotency.find(accountId, requestKey)
    if (id !== undefined) await cancelGeneration(ports, id, CANCELED, { onlyQueued: false })
  }

  const callTool = async (request: FastifyRequest, reply: FastifyReply, tool: Tool, args: unknown, more: Waiting) => {
    const { caller, id: requestId } = request
    const concerns = (id: string) => {
      request.generationId = id
    }
    const call = { caller, requestId, concerns, begun: performance.now() }
    if (!tool.mayWait) return tool.run(args, { ...call, waiting: undefined })
    const { requestKey, onlyWaits, tell } = more
    return calls.during(caller.account.id, requestKey, (canceled) => {
      const signals = { canceled, gone: clientGone(request, reply), revoked: keyRevoked(request, reply) }
      const admitImages = (patience: number) => images.admit(caller.account.id, request, reply, patience)
      const waiting = { ...signals, requestKey, onlyWaits, admitImages, report: reporter(tell) }
      return tool.run(args, { ...call, waiting })
    })
  }

  app.post('/mcp', async (request, reply) => {
    const { body, caller, headers } = request
    if (Array.isArray(body)) throw oneMessageOnly()
    const { method, id, params } = (body ?? {}) as Message
    const mayWait = method === 'tools/call' && tools.some((tool) => tool.mayWait && tool.name === params?.name)
    const type = answerTypeOf(headers.accept, mayWait ? EVENTS : JSON_TYPE)
    const keyOf = (requestId: unknown) => requestKeyOf(headers['mcp-session-id'], requestId)
    // A name for the requests of this client, of which nothing is kept: any server goes on with it.
    if (method === 'initialize') reply.header('mcp-session-id', randomUUID())
    const canceled = method === 'notifications/cancelled' ? keyOf(params?.requestId) : undefined
    if (canceled) await cancel(caller.account.id, canceled)

    const answers = await protocol()
    let begin = () => {}
    const worked = new Promise<void>((resolve) => {
      begin = resolve
    })
    const onlyWaits = () => {
      request.releaseSlot?.()
      begin()
    }
    const answer = await answers({
      ...{ message: withArguments(body), headers, url: `${baseUrl}/mcp`, isStream: type === EVENTS, onSend: begin },
      callTool: (tool, args, tell) =>
        callTool(request, reply, tool, args, { requestKey: keyOf(id), onlyWaits, tell }).catch((thrown) =>
          refused(thrown, request),
        ),
    })
    // Until its work is done the request keeps its slot, which an answer gives back.
    if (isEventStream(answer)) await worked
    return send(reply, answer)
  })
}

/** A call as it was meant, if its arguments are null, or the text of their JSON: some programs write them so. */
function withArguments(message: unknown): unknown {
  const { params } = (message ?? {}) as { readonly params?: { readonly arguments?: unknown } | null }
  const args = params?.arguments
  if (args !== null && typeof args !== 'string') return message
  try {
    return { ...(message as object), params: { ...params, arguments: JSON.parse(args || '{}') ?? {} } }
  } catch {
    return message
  }
}

interface Waiting {
  readonly requestKey: string | undefined
  readonly onlyWaits: () => void
  readonly tell: Tell
}

/** The Idempotency-Key of a request that brings none: no two requests of a session have the same ID. */
function requestKeyOf(session: unknown, id: unknown): string | undefined {
  const isNamed = typeof session === 'string' && /^[0-9a-f-]{36}$/.test(session)
  if (!isNamed || (typeof id !== 'string' && typeof id !== 'number')) return undefined
  const text = JSON.stringify([session, id])
  return `mcp.${createHash('sha256').update(text).digest('base64url')}`
}

/** The protocol's progress only ever grows, also where a place in the queue is all that changes. */
function reporter(tell: Tell) {
  let told = 0
  let last: string | undefined
  return (now: Polled) => {
    const message = stateOf(now)
    if (!tell || message === last) return
    last = message
    const percent = now.status === 'processing' ? Math.round((now.progress ?? 0) * 99) : 0
    told = Math.max(percent, told + 0.01)
    tell(told, message)
  }
}

/** As the model reads it; what is the server's own fault is logged as in any other interface. */
function refused(thrown: unknown, request: FastifyRequest): ToolResult {
  const error = toAppError(thrown, request)
  if (error.code === 'internal') request.log.error({ err: thrown }, 'tool failed')
  else if (error.code === 'unavailable') request.log.warn({ err: thrown }, 'tool could not be served')
  return refusal(error.message)
}

const JSON_TYPE = 'application/json'
const EVENTS = 'text/event-stream'

/** Any but the weight of a range. */
const PARAMETER = /;\s*(?!q\s*=)[^=;,"]*(?:=\s*(?:"(?:[^"\\]|\\.)*"|[^;,"]*))?/gi

const typesIn = (accept: string) => new Negotiator({ headers: { accept } }).mediaTypes([EVENTS, JSON_TYPE])

/**
 * The protocol asks clients to accept both, but many accept one, anything, or say nothing.
 * @throws not_acceptable
 */
function answerTypeOf(accept: string | undefined, usual: string): string {
  const ranges = (accept || '*/*').replace(/;\s*charset=[^;,]*/gi, '')
  const exactly = typesIn(ranges)
  // Neither type has parameters, so a range with some means the type, if no other range matches one.
  const accepted = exactly.length > 0 ? exactly : typesIn(ranges.replace(PARAMETER, ''))
  const type = accepted.includes(usual) ? usual : accepted[0]
  if (type === undefined)
    throw new AppError('not_acceptable', `Answers are ${JSON_TYPE} or ${EVENTS}: accept one of them, or both.`)
  return type
}

const isEventStream = ({ headers }: Response) => headers.get('content-type') === EVENTS

async function send(reply: FastifyReply, answer: Response): Promise<FastifyReply> {
  reply.code(answer.status)
  // Whether the connection stays is the server's to say.
  answer.headers.forEach((value, name) => {
    if (name !== 'connection') reply.header(name, value)
  })
  if (isEventStream(answer)) return reply.send(Readable.fromWeb(answer.body as ReadableStream))
  return reply.send(answer.body ? await answer.text() : undefined)
}

const oneMessageOnly = () =>
  new AppError('invalid_request', 'Batches are not taken: send one JSON-RPC message per request.')
