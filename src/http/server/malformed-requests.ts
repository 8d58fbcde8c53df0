import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { AppError } from '../../core/errors.js'
import { errorBody } from '../shared/error-bodies.js'

/** A request that arrived in time, but was not read in time, is read within this time. */
const CATCH_UP_MS = 500

/** The latest request of each connection: if its body cannot be read, its target is known only here. */
const latestRequests = new WeakMap<Socket, IncomingMessage>()

/** For the server's "request" event. */
export const noteRequest = (request: IncomingMessage): void => void latestRequests.set(request.socket, request)

/**
 * For the server's "clientError" event: Node could not read the request as HTTP, or it did not arrive in time. Fastify
 * has no request to answer then, so the answer is written by hand.
 */
export function answerUnreadable(error: Error & { code?: string; rawPacket?: unknown }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return void refuseUnlessArrived(socket)
  const [status, message] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? ['431 Request Header Fields Too Large', 'The request headers are larger than 16 KiB: shorten them.']
      : ['400 Bad Request', 'The request is not valid HTTP.']
  refuse(socket, status, message, targetOf(error.rawPacket))
}

/** For the server's "connect" event. Otherwise Node would close the connection unanswered. */
export function refuseTunnel({ socket, url = '' }: IncomingMessage): void {
  // Node no longer listens to this socket's errors.
  socket.on('error', () => undefined)
  refuse(socket, '400 Bad Request', 'CONNECT is not possible: this server is no proxy.', url)
  socket.destroySoon()
}

/** After this process stood still, Node checks the time-out before it reads what has arrived meanwhile. */
function refuseUnlessArrived(socket: Socket): void {
  const last = latestRequests.get(socket)
  const awaitsBody = last?.complete === false
  setTimeout(() => {
    const now = latestRequests.get(socket)
    if (now?.complete && (awaitsBody || now !== last)) return
    refuse(socket, '408 Request Timeout', 'The request did not arrive in time: send it again.')
  }, CATCH_UP_MS)
}

function refuse(socket: Socket, status: string, message: string, target = latestRequests.get(socket)?.url ?? ''): void {
  const body = JSON.stringify(errorBody(new AppError('invalid_request', message), target))
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `x-request-id: ${randomUUID()}\r\nx-error-code: invalid_request\r\nConnection: close\r\n\r\n${body}`,
  )
}

/** The target of the request, if its first line is among the bytes that could not be read. */
const targetOf = (packet: unknown): string | undefined =>
  packet instanceof Buffer ? /^\S+ (\S+)/.exec(packet.toString('latin1', 0, 200))?.[1] : undefined
