import { z } from 'zod'
import { failure } from './failure.js'
import { replyFailure } from './reply-failure.js'
import type { HttpReply } from './server-http.js'

export interface Expected<T> {
  readonly shape: z.ZodType<T>
  readonly status: number
  /** What must not appear in an error's message. */
  readonly prompts: readonly string[]
}

/**
 * The JSON of a reply, in the shape that was expected (without one, as it is).
 * @throws BackendError: what another status means; `bad_output` when it is something else
 */
export function jsonReply<T = unknown>(server: string, reply: HttpReply, expected: Partial<Expected<T>> = {}): T {
  const { shape, status = 200, prompts } = expected
  if (reply.status !== status) throw replyFailure(server, reply.status, reply.text, prompts)
  let body: unknown
  try {
    body = JSON.parse(reply.text)
  } catch {
    // Without its cause, which quotes the reply.
    throw failure('bad_output', `${server} answered with something that is not JSON`)
  }
  const parsed = (shape ?? z.unknown()).safeParse(body)
  if (!parsed.success) throw failure('bad_output', `${server} answered with something unexpected`, parsed.error)
  return parsed.data as T
}
