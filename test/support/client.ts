/** Requests as a subscriber sends them. */
import { expect } from 'vitest'
import { expectDescribed } from './described.js'
import { until } from './until.js'

export interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: whatever JSON came back; the tests look at it
  readonly body: any
  readonly headers: Headers
}

export interface CallOptions {
  readonly key?: string
  /** Sent as JSON; a string is sent as it is. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

export async function call(url: string, method: string, path: string, options: CallOptions = {}): Promise<Answer> {
  const { key, body, headers = {}, signal } = options
  const response = await fetch(`${url}${path}`, {
    method,
    redirect: 'manual',
    ...(signal && { signal }),
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  expectDescribed(method, path, response)
  const text = await response.text()
  const json = response.headers.get('content-type')?.includes('json') && text !== ''
  return { status: response.status, body: json ? JSON.parse(text) : text, headers: response.headers }
}

/** Polls until the generation has ended, as a subscriber does. */
export function endOf({ url }: { readonly url: string }, { key }: { readonly key: string }, id: string) {
  return until(async () => {
    const { body } = await call(url, 'GET', `/api/v1/generate/${id}`, { key })
    return body.status === 'succeeded' || body.status === 'failed' ? body : undefined
  }, `the end of ${id}`)
}

export const PROMPT = { prompt: 'a lighthouse at dusk', model_version_id: 10 }

/** Spec 7.1: exactly one field, a sentence. */
export function expectPersonalError(answer: Answer, status: number, sentence: RegExp): void {
  expect(answer.body).toEqual({ error: expect.stringMatching(sentence) })
  expect(answer.status).toBe(status)
  expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
}

/** Spec 7.2: the envelope, with nothing but its fields. */
export function expectCreateError(
  answer: Answer,
  status: number,
  code: string,
  sentence: RegExp,
  more: { readonly parameter?: string; readonly retry_after?: number } = {},
): void {
  expect(answer.body).toEqual({ success: false, error: { code, message: expect.stringMatching(sentence), ...more } })
  expect(answer.status).toBe(status)
  expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
}
