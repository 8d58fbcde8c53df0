import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { AppError } from '../errors.js'
import { bodyFor } from './error-shape.js'

/** Where the last request of a connection was headed: one that times out amid its body is not among the bytes at hand. */
const targets = new WeakMap<Socket, string>()

/** For the server's "request" event. */
export const noteTarget = ({ socket, url = '' }: IncomingMessage): void => void targets.set(socket, url)

/** What Node's parser could not read as HTTP: there is no request yet, so the answer is written by hand. */
export function answerUnreadable(error: Error & { code?: string; rawPacket?: unknown }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const [status, message] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? ['431 Request Header Fields Too Large', 'The request headers are larger than 16 KiB: shorten them.']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', 'The request did not arrive in time: send it again.']
        : ['400 Bad Request', 'The request is not valid HTTP.']
  const body = JSON.stringify(
    bodyFor(targetOf(error.rawPacket) ?? targets.get(socket) ?? '')(new AppError('invalid_request', message)),
  )
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `x-request-id: ${randomUUID()}\r\nx-error-code: invalid_request\r\nConnection: close\r\n\r\n${body}`,
  )
}

/** Where the request was headed, if its first line is among the bytes that could not be read. */
const targetOf = (packet: unknown): string | undefined =>
  packet instanceof Buffer ? /^\S+ (\S+)/.exec(packet.toString('latin1', 0, 200))?.[1] : undefined
