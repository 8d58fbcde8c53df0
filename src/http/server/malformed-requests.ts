import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { parse } from 'node:querystring'
import type { FastifyRequest } from 'fastify'
import { AppError, invalidParameter, invalidUrl } from '../../core/errors.js'
import { faultIn, placeIn } from '../../lib/json-file.js'
import { errorBody } from '../shared/error-bodies.js'
import type { App } from '../shared/fastify-app.js'
import { isPrivateAddress } from '../shared/networks.js'

/** A request that arrived in time, but was not read in time, is read within this time. */
const CATCH_UP_MS = 500

/** The latest request of each connection: if its body cannot be read, its target is known only here. */
const latestRequests = new WeakMap<Socket, IncomingMessage>()

/** For the server's "request" event. */
export const noteRequest = (request: IncomingMessage): void => void latestRequests.set(request.socket, request)

const PROXY_PROTOCOL =
  'This server takes no PROXY protocol: switch it off in the proxy, let that send X-Forwarded-For, and name it in TRUST_PROXY.'
/** What begins with these bytes is no HTTP/1.1, mostly because a proxy in front is set up so. */
const OTHER_PROTOCOLS: readonly (readonly [string, string])[] = [
  ['PROXY TCP', PROXY_PROTOCOL],
  ['PROXY UNKNOWN', PROXY_PROTOCOL],
  ['\r\n\r\n\0\r\nQUIT\n', PROXY_PROTOCOL],
  ['PRI * HTTP/2', 'This server speaks HTTP/1.1 only: let the proxy in front of it do so.'],
  ['\x16\x03', 'This server speaks no TLS itself: reach it by http://, or through a proxy that ends TLS.'],
]

/**
 * For the server's "clientError" event: Node could not read the request as HTTP, or it did not arrive in time. Fastify
 * has no request to answer then, so the answer is written by hand. `warn` gets a sentence that only the log can show, since who sent
 * this may not understand the answer.
 */
export function answerUnreadable(
  error: Error & { code?: string; rawPacket?: unknown },
  socket: Socket,
  warn: (sentence: string) => void,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return void refuseUnlessArrived(socket)
  const begun = error.rawPacket instanceof Buffer ? error.rawPacket.toString('latin1', 0, 20) : ''
  const other = OTHER_PROTOCOLS.find(([bytes]) => begun.startsWith(bytes))?.[1]
  // From the internet it is somebody who tries what answers.
  if (other && isPrivateAddress(socket.remoteAddress ?? '')) warn(other)
  const [status, message] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? ['431 Request Header Fields Too Large', 'The request headers are larger than 16 KiB: shorten them.']
      : ['400 Bad Request', other ?? 'The request is not valid HTTP.']
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
    // A browser or a proxy has opened it in advance. It would take this for the answer to what it is just sending.
    if (socket.bytesRead === 0) return void socket.destroy()
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

/**
 * Bodies and URLs as text: UTF-8, or refused before anything is done. A decoder that mends text would change a prompt.
 * JSON bodies in every scope, and no others; queries everywhere. The router itself refuses a path that does not decode.
 */
export function requireUtf8(app: App): void {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    // Its 404 or 405 says more than what is wrong with the body.
    if (request.is404) return done(null)
    const text = textOf(request, body)
    return parseJson(request, text, (error, value) =>
      done(error ? faultOf(text) : (brokenText(text, value) ?? wrapped(value)), value),
    )
  })
  app.addHook('onRequest', ({ raw: { url = '' } }, _reply, next) => (decodes(url) ? next() : next(invalidUrl())))
}

/** The bodies of HTML forms, in one scope. A name that comes more than once has a list of values. */
export function readForms(app: App): void {
  app.addContentTypeParser<Buffer>(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer' },
    (request, body, done) => {
      const text = textOf(request, body).replace(/^\ufeff/, '')
      if (!decodes(text)) throw new AppError('invalid_request', 'The form is not valid UTF-8: encode it as UTF-8.')
      done(null, parse(text, '&', '=', { maxKeys: 0 }))
    },
  )
}

/** Of a parameter of Content-Type, quoted or not. */
const CHARSET = /;\s*charset\s*=\s*["']?([^"';\s]+)/gi
/** Leaves the byte order mark, one of which the parser of JSON takes. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** @throws unsupported_media_type, invalid_request */
function textOf({ headers }: FastifyRequest, body: Buffer): string {
  const { 'content-encoding': coding = '' } = headers
  if (!/^(identity)?$/i.test(coding))
    throw new AppError(
      'unsupported_media_type',
      `Unsupported Content-Encoding "${coding.slice(0, 50)}": send the body uncompressed.`,
    )
  // All of ASCII is UTF-8.
  for (const [, charset = ''] of (headers['content-type'] ?? '').matchAll(CHARSET))
    if (!/^(utf-?8|us-ascii|ascii)$/i.test(charset))
      throw new AppError(
        'unsupported_media_type',
        `Unsupported charset "${charset.slice(0, 50)}": send the body as UTF-8.`,
      )
  try {
    return UTF8.decode(body)
  } catch {
    throw new AppError('invalid_request', 'The request body is not valid UTF-8: encode it as UTF-8.')
  }
}

/** What is wrong with a body that could not be read as JSON. Says where, and shows nothing of it. */
function faultOf(body: string): AppError {
  const text = body.replace(/^\ufeff/, '')
  const refuse = (fault: string) => new AppError('invalid_request', `The request body ${fault}`)
  if (text.trim() === '') return refuse('is empty: send a JSON object.')
  try {
    JSON.parse(text)
    return refuse('has a field "__proto__" or "constructor": remove it.')
  } catch (error) {
    const at = faultIn(text, String(error))
    // A template of another program that puts a text between two quotation marks, as it is.
    const isBroken = String(error).includes('control character')
    const advice = isBroken ? 'write a line break within a text as \\n.' : 'send a JSON object.'
    return refuse(`is not valid JSON from ${placeIn(text, at)} on: ${advice}`)
  }
}

/** JSON in JSON: a program that has made it text twice. */
const wrapped = (value: unknown): AppError | null =>
  typeof value === 'string'
    ? invalidParameter('body', 'The request body must be a JSON object, not a text in quotation marks that holds one.')
    : null

/** Whether the percent-encoded parts are UTF-8. */
function decodes(text: string): boolean {
  try {
    return decodeURIComponent(text) !== undefined
  } catch {
    return false
  }
}

/** JSON can escape half a character, as \ud800, which UTF-8 cannot hold. */
function brokenText(json: string, value: unknown): AppError | null {
  if (!/\\ud[89a-f]/i.test(json)) return null
  // A loop, because nesting may be as deep as the body is long.
  const rest: [path: string, value: unknown][] = [['', value]]
  for (const [path, it] of rest) {
    if (typeof it === 'string' && !it.isWellFormed()) return loneSurrogate(path)
    if (it === null || typeof it !== 'object') continue
    for (const [name, inner] of Object.entries(it)) {
      const place = path === '' ? name : `${path}.${name}`
      if (!name.isWellFormed()) return loneSurrogate(place, 'A field name')
      rest.push([place, inner])
    }
  }
  return null
}

const FIELD = /^[a-z_][\w.]{0,99}$/i

/** @param subject what the sentence is about: the field, where its name can begin a sentence */
function loneSurrogate(path: string, subject = FIELD.test(path) ? path : 'A value'): AppError {
  const parameter = path.slice(0, 100).toWellFormed() || 'body'
  return invalidParameter(parameter, `${subject} must be valid Unicode text: it has half a surrogate pair.`)
}
