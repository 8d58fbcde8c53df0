/**
 * Why something outside failed. Libraries wrap what the network said: in `cause`, in the `errors` of an AggregateError (whose own
 * message is empty) when a name has several addresses, or in a property of their own. They also throw what is no Error.
 */
import { beginningOf } from './text.js'

/** One error of those that a library wrapped into each other. */
export interface Cause {
  /** Empty, if it has none. */
  readonly name: string
  /** Such as ECONNREFUSED, CERT_HAS_EXPIRED or a SQLSTATE; undefined, if it has none. */
  readonly code: string | undefined
  readonly message: string
  /** What was thrown itself. */
  readonly thrown: unknown
}

/** `detail` is Stripe's, `lastNodeError` that of a Redis cluster, `error` that of events of WebSockets. */
const LINKS = ['errors', 'cause', 'detail', 'lastNodeError', 'error'] as const
/** Some libraries let an error be its own cause. */
const MOST = 50
/** Of words that another program wrote. */
const LONGEST = 300

/** What was thrown and all that it wraps, the outermost first. It is never empty. */
export function causesOf(thrown: unknown): readonly Cause[] {
  const found = new Set<unknown>([thrown])
  // A Set also gives what is added while it is read.
  for (const one of found) for (const inner of wrappedBy(one)) if (found.size < MOST) found.add(inner)
  return [...found].map(causeOf)
}

/** The codes in it, the outermost first: what happened may be said by any of them. */
export const codesOf = (thrown: unknown): readonly string[] =>
  causesOf(thrown).flatMap(({ code }) => (code === undefined ? [] : [code]))

/**
 * Why it failed, as one line for people: what the innermost error says, such as `connect ECONNREFUSED 10.0.0.1:5432`. Of
 * several addresses that were tried, each has its say.
 */
export function reasonOf(thrown: unknown): string {
  const said = innermost(thrown, new Set()).map(wordsOf).filter(Boolean)
  return beginningOf([...new Set(said)].join('; '), LONGEST) || wordsOf(causeOf(thrown)) || NO_REASON
}

/** What an error says itself, where that is a sentence of ours; the reason, if it says nothing. */
export const messageOf = (thrown: unknown): string => (thrown instanceof Error && thrown.message) || reasonOf(thrown)

const NO_REASON = 'no reason was given'

/** The errors that wrap no other; where such a one says nothing, the one around it. */
function innermost(thrown: unknown, seen: Set<unknown>): readonly Cause[] {
  seen.add(thrown)
  const inner = wrappedBy(thrown).filter((one) => !seen.has(one) && seen.size < MOST)
  const found = inner.flatMap((one) => innermost(one, seen))
  return found.some(wordsOf) ? found : [causeOf(thrown)]
}

/** A string is what libraries write about an error, and is wrapped nowhere but in a list of them. */
function wrappedBy(thrown: unknown): readonly unknown[] {
  if (typeof thrown !== 'object' || thrown === null) return []
  return LINKS.flatMap((link) => {
    const inner = (thrown as Readonly<Record<string, unknown>>)[link]
    return Array.isArray(inner) ? inner : [inner]
  }).filter(isError)
}

/** Not by its class: an error of another realm, or of a library that makes its own, is one, too. */
const isError = (it: unknown): boolean =>
  it instanceof Error || (typeof it === 'object' && it !== null && typeof (it as Error).message === 'string')

function causeOf(thrown: unknown): Cause {
  const given = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as Readonly<Record<string, unknown>>
  const { name, code, message } = given
  return {
    name: typeof name === 'string' ? name : '',
    code: typeof code === 'string' && code !== '' ? code : undefined,
    message: typeof message === 'string' ? message : typeof thrown === 'string' ? thrown : '',
    thrown,
  }
}

/** Of Node and of TLS; a SQLSTATE tells people nothing. */
const TOLD_CODE = /^[A-Z][A-Z0-9_]{2,}$/

/** Its message on one line, with its code; one alone if the other is missing, and its name if both are. */
function wordsOf({ name, code, message }: Cause): string {
  const line = beginningOf(
    message
      .slice(0, 2 * LONGEST)
      .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
      .trim(),
    LONGEST,
  )
  if (line === '') return code ?? (name === 'Error' || name === 'AggregateError' ? '' : name)
  return code === undefined || line.includes(code) || !TOLD_CODE.test(code) ? line : `${line} (${code})`
}

/** Codes that say that no connection was made, so the other side got nothing. */
const UNREACHED =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EAI_FAIL|EAI_NODATA|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT|ERR_SOCKET_CONNECTION_TIMEOUT)$/

/** Node's and OpenSSL's codes of a TLS connection that was refused by either side. */
const TLS =
  /^(EPROTO$|ERR_TLS_|ERR_SSL_|CERT_|CRL_|DEPTH_ZERO_SELF_SIGNED_CERT$|SELF_SIGNED_CERT_IN_CHAIN$|UNABLE_TO_|INVALID_(CA|PURPOSE)$|HOSTNAME_MISMATCH$)/

/** Whether no connection was made: not to any address, where there were several. */
export const isUnreached = (thrown: unknown): boolean =>
  causesOf(thrown).some(
    ({ code = '', thrown: one }) => UNREACHED.test(code) || ['connect', 'getaddrinfo'].includes(syscallOf(one)),
  )

const syscallOf = (thrown: unknown): string => String((thrown as NodeJS.ErrnoException | undefined)?.syscall)

/** Whether TLS failed, whichever side refused it. */
export const isTlsFailure = (thrown: unknown): boolean => codesOf(thrown).some((code) => TLS.test(code))
