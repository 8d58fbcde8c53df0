import type { BackendError } from '../../generation/backend.js'
import { failure } from '../failure.js'

/** An error body's own words. Never its `body` or `input`, where servers repeat the prompt. */
function wordsOf(text: string): string {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return ''
  }
  if (typeof body !== 'object' || body === null) return ''
  const { error, errors, message, detail } = body as Record<string, unknown>
  const details = Array.isArray(detail)
    ? detail.map((item: { loc?: unknown; msg?: unknown }) => `${[item?.loc].flat().join('.')}: ${item?.msg}`)
    : [detail]
  return [error, ...details, errors, message].filter((word) => typeof word === 'string' && word !== '').join('; ')
}

/** What an answer other than 200 to txt2img means. */
export function replyFailure(server: string, status: number, text: string): BackendError {
  const words = wordsOf(text)
  const said = `${server} answered ${status}${words && `: ${words.slice(0, 300)}`}`
  if (status === 401 || status === 403) return failure('auth', said)
  if (status === 429) return failure('busy', said)
  if (status === 502 || status === 503 || status === 504 || status < 400) return failure('unavailable', said)
  if (/sampler not found/i.test(words)) return failure('unsupported', said)
  if (/model( '.*')? not found/i.test(words)) return failure('model_missing', said)
  if (status === 404) return failure('unavailable', `${said} (was it started with --api?)`)
  // stable-diffusion.cpp answers a body it can't read with 500: our own fault.
  if (status < 500 || words.includes('json.exception')) return failure('invalid_request', said)
  if (/OutOfMemory|out of memory/i.test(words)) return failure('oom', said)
  return failure('backend_fault', said)
}
