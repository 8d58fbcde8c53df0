import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { AppError } from '../errors.js'
import { bodyFor } from './error-shape.js'

/** What Node's parser could not read as HTTP: there is no request yet, so the answer is written by hand. */
export function answerUnreadable(error: Error & { code?: string; rawPacket?: unknown }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const [status, message] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? ['431 Request Header Fields Too Large', 'The request headers are larger than 16 KiB: shorten them.']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', 'The request did not arrive in time: send it again.']
        : ['400 Bad Request', 'The request is not valid HTTP.']
  const body = JSON.stringify(bodyFor(targetOf(error.rawPacket))(new AppError('invalid_request', message)))
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `x-request-id: ${randomUUID()}\r\nConnection: close\r\n\r\n${body}`,
  )
}

/** Where the request was headed, if its first line is among the bytes that could not be read. */
const targetOf = (packet: unknown): string =>
  packet instanceof Buffer ? (/^\S+ (\S+)/.exec(packet.toString('latin1', 0, 200))?.[1] ?? '') : ''
