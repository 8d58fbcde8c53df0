import type { CallToolResult, ServerNotification } from '@modelcontextprotocol/sdk/types.js'
import type { Tool, ToolResult } from './tool.js'

/** @param name of the installation */
const instructions = (name: string) =>
  `${name} draws images from text prompts on its own GPU servers, for credits of the account whose key is used. ` +
  'generate_image does it all in one call, or answers with an id for get_generation if it takes long; list_models says ' +
  'which styles there are, get_account what is left.'

interface Incoming {
  /** One JSON-RPC message, as it was sent. */
  readonly message: unknown
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly url: string
  /** Whether the answer comes as a stream, in which the client is told of progress. */
  readonly isStream: boolean
  readonly callTool: (tool: Tool, args: unknown, tell: Tell) => Promise<ToolResult>
  /** Called when the first message goes out. */
  readonly onSend: () => void
}

/** Tells the client of progress, if it asked for that. */
export type Tell = ((progress: number, message: string) => void) | undefined

export type Protocol = Awaited<ReturnType<typeof loadProtocol>>

const UNREADABLE = (code: number) => ({ code, message: 'The params are not those of this method: check their types.' })

/** The headers that the protocol reads. */
const READ = ['content-type', 'mcp-protocol-version'] as const

/**
 * The Model Context Protocol over HTTP, without state: each request has a protocol server of its own, so that it may
 * reach any of our servers. The SDK is imported here, with the first request, because few servers meet an agent.
 */
export async function loadProtocol(tools: readonly Tool[], name: string) {
  const [{ Server }, { WebStandardStreamableHTTPServerTransport }, types] = await Promise.all([
    import('@modelcontextprotocol/sdk/server/index.js'),
    import('@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'),
    import('@modelcontextprotocol/sdk/types.js'),
  ])
  const { CallToolRequestSchema, ListToolsRequestSchema, McpError, ErrorCode } = types
  const info = { name: 'easel', title: name, version: '1.0.0' }
  const listed = { tools: tools.map(({ listed }) => listed()) as never[] }

  return async ({ message, headers, url, isStream, callTool, onSend }: Incoming): Promise<Response> => {
    const server = new Server(info, { capabilities: { tools: {} }, instructions: instructions(name) })
    server.setRequestHandler(ListToolsRequestSchema, () => listed)
    server.setRequestHandler(CallToolRequestSchema, ({ params }, { sendNotification }) => {
      const tool = tools.find(({ name }) => name === params.name)
      if (!tool) throw new McpError(ErrorCode.InvalidParams, `Unknown tool: ${params.name.slice(0, 50)}`)
      const progressToken = params._meta?.progressToken
      const tell = (progress: number, text: string) => {
        const notice = { progressToken: progressToken as string, progress, total: 100, message: text }
        const notification: ServerNotification = { method: 'notifications/progress', params: notice }
        // The client may have hung up.
        sendNotification(notification).catch(() => undefined)
      }
      const result = callTool(tool, params.arguments ?? {}, isStream && progressToken !== undefined ? tell : undefined)
      return result as Promise<CallToolResult>
    })
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: !isStream })
    const send = transport.send.bind(transport)
    transport.send = (sent, more) => {
      onSend()
      // The handlers here throw nothing of that kind: the SDK could not read the params, and says so in JSON of zod's.
      const isUnreadable = 'error' in sent && sent.error.code === ErrorCode.InternalError
      return send(isUnreadable ? { ...sent, error: UNREADABLE(ErrorCode.InvalidParams) } : sent, more)
    }
    await server.connect(transport as never)
    // The SDK looks for both names in it. What the client accepts was heeded before.
    const read = new Headers({ accept: 'application/json, text/event-stream' })
    for (const name of READ) if (headers[name] !== undefined) read.set(name, String(headers[name]))
    return transport.handleRequest(new Request(url, { method: 'POST', headers: read }), { parsedBody: message })
  }
}
