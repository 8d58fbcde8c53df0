import type { z } from 'zod'

/** The title of an HTML page; undefined where the text is none, or has no short one near its beginning. */
export function htmlTitleOf(text: string): string | undefined {
  const start = text.trimStart().slice(0, 4000)
  const title = /^<.*?<title[^>]*>([^<]*)<\/title>/is.exec(start)?.[1]?.trim() ?? ''
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
export function jsonIn(text: string): unknown {
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
