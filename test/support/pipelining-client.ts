/** Floods: many requests at once over each of many connections, none of which waits for the answer before. */
import { connect, type Socket } from 'node:net'

export interface FloodAnswer {
  readonly status: number
  readonly retryAfter: string | undefined
}

export interface Flood {
  /** What has come back so far. */
  readonly answers: readonly FloodAnswer[]
  /** Stops sending; resolves when every request that was sent is answered or its connection closed. */
  end(): Promise<void>
  /** Requests sent whose answer never came. */
  unanswered(): number
}

export interface FloodOptions {
  readonly connections: number
  /** Requests that each connection has under way at any time. */
  readonly depth: number
  /** One whole request, asked for each time. */
  readonly request: () => string
}

/** Keeps `connections` × `depth` requests under way until it is ended. */
export function startFlood(url: string, { connections, depth, request }: FloodOptions): Flood {
  const { hostname, port } = new URL(url)
  const answers: FloodAnswer[] = []
  let flooding = true
  let lost = 0

  const run = async (): Promise<void> => {
    while (flooding) {
      const socket = connect(Number(port), hostname)
      socket.setNoDelay(true)
      // A refused or cut connection is counted below, by what it leaves unanswered.
      socket.on('error', () => undefined)
      lost += await exchange(socket)
    }
  }

  /** @returns how many requests the connection left unanswered when it closed */
  const exchange = async (socket: Socket): Promise<number> => {
    let open = 0
    let rest = ''
    const send = (count: number) => {
      if (!flooding || count <= 0) return
      open += count
      socket.write(Array.from({ length: count }, request).join(''), 'latin1')
    }
    socket.on('connect', () => send(depth))
    socket.on('data', (chunk) => {
      const read = readAnswers(rest + chunk.toString('latin1'))
      rest = read.rest
      answers.push(...read.answers)
      open -= read.answers.length
      if (!flooding && open <= 0) socket.end()
      // In batches, so that the client needs less of the machine than the server.
      else if (open <= depth / 2) send(depth - open)
    })
    await new Promise((closed) => socket.once('close', closed))
    return open
  }

  const running = Promise.all(Array.from({ length: connections }, run))
  return {
    answers,
    async end() {
      flooding = false
      await running
    },
    unanswered: () => lost,
  }
}

function readAnswers(text: string): { answers: FloodAnswer[]; rest: string } {
  const answers: FloodAnswer[] = []
  let at = 0
  for (;;) {
    const headEnd = text.indexOf('\r\n\r\n', at)
    if (headEnd < 0) break
    const head = text.slice(at, headEnd)
    const end = headEnd + 4 + Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
    if (end > text.length) break
    answers.push({ status: Number(head.slice(9, 12)), retryAfter: /\r\nretry-after: ([^\r]*)/i.exec(head)?.[1] })
    at = end
  }
  return { answers, rest: text.slice(at) }
}
