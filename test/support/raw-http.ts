/** Bytes that no HTTP client would send, and what comes back. */
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Answer } from './client.js'

const TIMEOUT_MS = 60_000

/**
 * Sends the bytes over a connection of their own and reads the first answer.
 * @returns undefined when the server closes the connection without one
 */
export async function sendRaw(url: string, bytes: string | Buffer): Promise<Answer | undefined> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)))
  // The server may answer and close before all has been sent.
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(bytes)
  let received = Buffer.alloc(0)
  try {
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      received = Buffer.concat([received, chunk])
      const answer = parseAnswer(received)
      if (answer) return answer
    }
  } catch (error) {
    if (received.length === 0 && (error as { code?: string }).code !== 'ECONNRESET') throw error
  } finally {
    socket.destroy()
  }
  if (received.length > 0) throw new Error(`half an answer: ${received}`)
  return undefined
}

function parseAnswer(received: Buffer): Answer | undefined {
  const headEnd = received.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const [statusLine = '', ...lines] = received.toString('latin1', 0, headEnd).split('\r\n')
  const headers = new Headers(
    lines.map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const length = Number(headers.get('content-length') ?? 0)
  const body = received.subarray(headEnd + 4)
  if (body.length < length) return undefined
  const text = body.toString('utf8', 0, length)
  const json = headers.get('content-type')?.includes('json')
  return { status: Number(statusLine.split(' ')[1]), headers, body: json ? JSON.parse(text) : text }
}
