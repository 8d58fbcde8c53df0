/** Requests as they come through a load balancer (nginx, HAProxy): to the servers that say they are ready, over connections that are kept. */
import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

export interface BalancedRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly key?: string
  /** Sent as JSON. */
  readonly body?: unknown
}

export interface Exchange {
  readonly method: string
  readonly path: string
  /** Undefined when no server was ready. */
  readonly server: string | undefined
  /** As performance.now() gives it. */
  readonly at: number
  readonly ms: number
  /** The status, or why no answer came. */
  readonly got: number | string
  readonly headers: IncomingHttpHeaders
  // biome-ignore lint/suspicious/noExplicitAny: whatever JSON came back; the tests look at it
  readonly body: any
}

export interface BalancedClient {
  /** Every request so far and what became of it, in the order of the answers; bodies left out. */
  readonly exchanges: readonly Omit<Exchange, 'body'>[]
  /** Watches a server from here on. */
  join(url: string): void
  isReady(url: string): boolean
  /** Never rejects, and never sends anything twice: what a restart breaks is seen. */
  send(asked: BalancedRequest): Promise<Exchange>
  close(): void
}

const PROBE_EVERY_MS = 250
/** A connection that nobody answers on is given up then; a slow machine is no outage. */
const PATIENCE_MS = 120_000

interface BalancedServer {
  readonly url: string
  readonly agent: Agent
  readonly probing: NodeJS.Timeout
  ready: boolean
}

/** @param probe what a server answers with 200 while requests should be sent to it */
export function balancedClient(probe = '/ready'): BalancedClient {
  const servers: BalancedServer[] = []
  const exchanges: Omit<Exchange, 'body'>[] = []
  let turn = 0

  function choose(): BalancedServer | undefined {
    const ready = servers.filter((server) => server.ready)
    return ready[turn++ % ready.length]
  }

  return {
    exchanges,

    join(url) {
      let asking = false
      const ask = async () => {
        if (asking) return
        asking = true
        // A connection of its own each time, as balancers do it.
        server.ready = (await exchange(url, { method: 'GET', path: probe }, false)).got === 200
        asking = false
      }
      const server = {
        url,
        agent: new Agent({ keepAlive: true }),
        probing: setInterval(ask, PROBE_EVERY_MS),
        ready: false,
      }
      servers.push(server)
      void ask()
    },

    isReady: (url) => servers.some((server) => server.url === url && server.ready),

    async send(asked) {
      const server = choose()
      const at = performance.now()
      const { method, path } = asked
      // As a balancer that waits for one; who asks again at once would leave no timer its turn.
      if (!server) await pause(PROBE_EVERY_MS)
      const answer = server
        ? await exchange(server.url, asked, server.agent)
        : { got: 'no server is ready', headers: {}, body: undefined }
      const { body, ...seen } = { method, path, server: server?.url, at, ms: performance.now() - at, ...answer }
      exchanges.push(seen)
      return { ...seen, body }
    },

    close() {
      for (const { probing, agent } of servers) {
        clearInterval(probing)
        agent.destroy()
      }
    },
  }
}

function exchange(
  url: string,
  { method, path, key, body }: BalancedRequest,
  agent: Agent | false,
): Promise<Pick<Exchange, 'got' | 'headers' | 'body'>> {
  const text = body === undefined ? undefined : JSON.stringify(body)
  return new Promise((resolve) => {
    const sent = request(`${url}${path}`, {
      method,
      agent,
      timeout: PATIENCE_MS,
      headers: {
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(text !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      },
    })
    const broken = (error: NodeJS.ErrnoException) =>
      resolve({
        got: `${error.code ?? error.message}${sent.reusedSocket ? ' on a kept connection' : ''}`,
        headers: {},
        body: undefined,
      })
    sent.on('error', broken).on('timeout', () => sent.destroy(new Error('no answer in time')))
    sent.on('response', async (response) => {
      const { headers, statusCode = 0 } = response
      try {
        const parts: Buffer[] = []
        for await (const part of response as AsyncIterable<Buffer>) parts.push(part)
        const whole = Buffer.concat(parts)
        const json = headers['content-type']?.includes('json')
        resolve({ got: statusCode, headers, body: json ? JSON.parse(whole.toString()) : whole })
      } catch (error) {
        broken(error as NodeJS.ErrnoException)
      }
    })
    sent.end(text)
  })
}
