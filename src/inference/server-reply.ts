import { z } from 'zod'
import type { GenerationParameters } from '../core/generations/generation.js'
import type { BackendError } from '../core/generations/run/backend.js'
import { failure } from './backend-failure.js'
import { briefly, saysOutOfMemory } from './out-of-memory.js'
import type { HttpReply } from './server-http.js'

/** The text parsed as JSON of that form; undefined if it is not. */
export function parsedJson<T>(text: string, form: z.ZodType<T>): T | undefined {
  return form.safeParse(jsonIn(text)).data
}

/** The messages in an error body of any shape. Never its `body` or `input`, where servers repeat the prompt. */
function wordsOf(text: string): string {
  const body = parsedJson(text, z.unknown())
  if (body !== undefined) return briefly(messagesIn(body).join('; '))
  return htmlTitleOf(text) ?? (text.trimStart().startsWith('<') ? '' : briefly(text.trim()))
}

const DEEPEST = 4

function messagesIn(value: unknown, depth = 0): string[] {
  if (typeof value === 'string') return value === '' ? [] : [value]
  if (typeof value !== 'object' || value === null || depth > DEEPEST) return []
  if (Array.isArray(value)) return value.flatMap((item) => messagesIn(item, depth + 1))
  const { error, detail, errors, message, msg, loc } = value as Record<string, unknown>
  const place = loc === undefined ? '' : `${[loc].flat().join('.')}: `
  return [error, detail, errors, message, msg].flatMap((part) =>
    messagesIn(part, depth + 1).map((words) => place + words),
  )
}

/** What a subscriber wrote. It is private: no message may quote it. */
type Prompts = Pick<GenerationParameters, 'prompt' | 'negativePrompt'>

const LONG_WORDS = /[\p{L}\p{N}]{5,}/gu

/** A server's message, bounded; empty if it quotes the beginning of a prompt, and without the longer words of both. */
export function publicWords(words: string, prompts?: Prompts): string {
  const texts = [prompts?.prompt, prompts?.negativePrompt].filter((text): text is string => Boolean(text))
  if (texts.some((text) => words.includes(text.slice(0, 20)))) return ''
  const asked = new Set(texts.flatMap((text) => text.toLowerCase().match(LONG_WORDS) ?? []))
  return briefly(words)
    .replace(LONG_WORDS, (word) => (asked.has(word.toLowerCase()) ? '…' : word))
    .slice(0, 300)
}

/** So a proxy answers when the server has not in its time: the server may go on with what it was asked. 52x: Cloudflare's. */
export const isGatewayTimeout = (status: number): boolean => [408, 499, 504, 520, 524, 598, 599].includes(status)

/** So one answers when the server is away, and some when they have given it up. */
export const isGatewayFault = (status: number): boolean => [502, 503, 521, 522, 523, 525, 526, 530].includes(status)

/** The error of an answer with another status than expected, or of a 200 that says what went wrong. */
export function replyFailure(server: string, status: number, text = '', prompts?: Prompts): BackendError {
  const words = wordsOf(text)
  const shown = publicWords(words, prompts)
  const said = `${server} answered ${status}${shown && `: ${shown}`}`
  if (status === 401 || status === 403) return failure('auth', said)
  if (status >= 300 && status < 400)
    return failure(
      'unavailable',
      `${server} answered ${status}, which sends callers elsewhere: write the address at which it answers itself, such as one with https://, or with the user and password of the sign-in before it`,
    )
  if (saysOutOfMemory(words)) return failure('oom', said)
  if (status === 429 || status === 529) return failure('busy', said)
  if (isGatewayTimeout(status)) return failure('lost', said)
  if (isGatewayFault(status) || (status < 300 && !isError(text))) return failure('unavailable', said)
  if (/sampler not found/i.test(words)) return failure('unsupported', said)
  if (/\bmodel\b.* (not found|does not exist)/i.test(briefly(words))) return failure('model_missing', said)
  if (status === 404)
    return failure('unusable', `${said} (another kind of server, or its API is off: A1111 needs --api)`)
  // stable-diffusion.cpp answers 500 to a body that it can't parse, which is our own fault.
  if ((status >= 400 && status < 500) || words.includes('json.exception')) return failure('invalid_request', said)
  return failure('backend_fault', said)
}

/** Validates a reply's JSON. @throws BackendError: replyFailure of another status; `bad_output` for another form */
export function jsonReply<T>(server: string, reply: HttpReply, form: z.ZodType<T>, prompts?: Prompts, status = 200): T {
  if (reply.status !== status) throw replyFailure(server, reply.status, reply.text, prompts)
  const body = parsedJson(reply.text, form)
  if (body !== undefined) return body
  if (isError(reply.text)) throw replyFailure(server, reply.status, reply.text, prompts)
  throw failure('bad_output', `${server} answered with ${describeUnexpected(reply.text, form, prompts)}`)
}

const error = z.object({ error: z.union([z.string().min(1), z.object({ message: z.string().min(1) })]) })

/** Some servers answer so with the status of a success. */
const isError = (text: string): boolean => parsedJson(text, error) !== undefined

/** Why the text is not of this form, as one clause. */
export const describeUnexpected = (text: string, form: z.ZodType, prompts?: Prompts): string =>
  describeAnswer(text, form, (words) => publicWords(words, prompts))

/** The title of an HTML page; undefined where the text is none, or has no short one near its beginning. */
function htmlTitleOf(text: string): string | undefined {
  const start = text.trimStart().slice(0, 4000)
  const title = /^<.*?<title[^<>]*>([^<]*)<\/title>/is.exec(start)?.[1]?.trim() ?? ''
  return title !== '' && title.length <= 100 ? title : undefined
}

/**
 * What a server has answered instead of JSON of this form, for the log: `an HTML page titled "502 Bad Gateway" instead of
 * JSON`, `JSON without "images"`. Of the answer's own words only a page's title, as `shown` lets it: others may be a prompt.
 */
export function describeAnswer(text: string, form: z.ZodType, shown: (words: string) => string): string {
  const body = jsonIn(text)
  if (body === undefined && isVast(text)) return `${sizeOf(text)} of more than ${MOST_VALUES} values`
  if (body === undefined && /^\s*[{["]/.test(text)) return `JSON that is damaged, or cut off after ${sizeOf(text)}`
  if (body === undefined) return `${kindOfText(text, shown)} instead of JSON`
  const issue = innermost(form.safeParse(body).error?.issues[0])
  if (!issue) return 'JSON that was not expected'
  const place = issue.path.map(String).join('.')
  const value = issue.path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown>)?.[key], body)
  if (value === undefined && place) return `JSON without "${place}"`
  const wanted = 'expected' in issue ? ` instead of ${withArticle(String(issue.expected))}` : ', which was not expected'
  return place ? `JSON whose "${place}" is ${kindOfValue(value)}${wanted}` : `${kindOfValue(value)}${wanted}, as JSON`
}

type Issue = z.core.$ZodIssue

/** Of a union, the complaint of its last form. */
const innermost = (issue: Issue | undefined): Issue | undefined => {
  if (issue?.code !== 'invalid_union') return issue
  const inner = issue.errors.at(-1)?.[0]
  return inner ? innermost({ ...inner, path: [...issue.path, ...inner.path] }) : issue
}

const sizeOf = (text: string): string => `${Buffer.byteLength(text)} bytes`

function kindOfText(text: string, shown: (words: string) => string): string {
  const size = sizeOf(text)
  const start = text.trimStart()
  if (start === '') return 'nothing'
  if (/^<(!doctype html|html|head|body)/i.test(start)) {
    const title = shown(htmlTitleOf(text) ?? '')
    return title ? `an HTML page titled "${title}"` : `an HTML page of ${size}`
  }
  if (start.startsWith('<')) return `XML of ${size}`
  if (/^(event|data|id): ?/.test(start)) return `an event stream of ${size}`
  return text.includes('\0') || text.includes('\ufffd') ? `binary data of ${size}` : `plain text of ${size}`
}

const kindOfValue = (value: unknown): string =>
  value === null ? 'null' : withArticle(Array.isArray(value) ? 'array' : typeof value)

const withArticle = (name: string): string => (name === 'null' ? name : `${/^[aio]/.test(name) ? 'an' : 'a'} ${name}`)

/** Far more than an answer has: images are long, but few values. */
const MOST_VALUES = 1_000_000

/** A server's JSON; undefined if it is none, or has more than MOST_VALUES, which take a hundred times its size. */
function jsonIn(text: string): unknown {
  try {
    return isVast(text) ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Counts what begins or follows a value; nothing of it is in base64. */
function isVast(text: string): boolean {
  let count = 0
  for (const mark of '[{,')
    for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + 1)) if (++count > MOST_VALUES) return true
  return false
}

const OTHER_FORMS: readonly [string, RegExp][] = [
  ['a GIF', /^GIF8/],
  ['a TIFF', /^II\*/],
  ['an AVIF or HEIC', /^....ftyp/s],
  ['a BMP', /^BM/],
  ['an SVG', /^\s*(<\?xml[^>]*>\s*)?<svg/i],
  ['an HTML page', /^\s*<(!doctype|html)/i],
  ['JSON', /^\s*[{[]"?/],
]

/** What these bytes are that should have been an image. */
export function kindOfBytes(bytes: Buffer): string {
  if (bytes.length === 0) return 'nothing'
  const head = bytes.toString('latin1', 0, 200)
  const [known] = OTHER_FORMS.find(([, form]) => form.test(head)) ?? []
  return known ?? `${bytes.length} bytes of something else`
}
