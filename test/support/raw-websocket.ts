/** The server's side of a WebSocket as bytes, for what no library would send. */
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { constants, deflateRawSync } from 'node:zlib'

/** Answers the handshake. `extensions`: the header in which a server says what it makes of the client's offer. */
export function acceptUpgrade(request: IncomingMessage, socket: Socket, extensions?: string): void {
  const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
  const lines = [
    ...['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'],
    `Sec-WebSocket-Accept: ${createHash('sha1').update(key).digest('base64')}`,
    ...(extensions ? [`Sec-WebSocket-Extensions: ${extensions}`] : []),
  ]
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
}

/** One whole text message that says of itself that it is compressed. */
export function compressedMessage(payload: Buffer): Buffer {
  const head = Buffer.alloc(10)
  head.writeUInt16BE(0xc17f, 0) // FIN, RSV1 and text; the length follows in 8 bytes
  head.writeBigUInt64BE(BigInt(payload.length), 2)
  return Buffer.concat([head, payload])
}

const BLOCK = 16 * 1024 * 1024

/** Deflated, and open for more. */
export const deflated = (bytes: Buffer): Buffer => deflateRawSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH })

/** Deflated zeros, a thousandth of what they inflate to. */
export function bomb(inflatedBytes: number): Buffer {
  const block = deflated(Buffer.alloc(BLOCK))
  return Buffer.concat(Array.from({ length: inflatedBytes / BLOCK }, () => block))
}
