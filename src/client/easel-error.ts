/** A refusal, a failed generation, or a server that could not be reached: one sentence for people, a code for programs. */
export class EaselError extends Error {
  /** The server's `X-Error-Code`, or `generation_failed`, `unreachable`. */
  readonly code: string
  /** HTTP status; undefined when there was no answer, and for a generation that failed. */
  readonly status: number | undefined
  /** The generation it is about. */
  readonly generationId: string | undefined
  /** Whole seconds after which the server may be asked again. */
  readonly retryAfterSeconds: number | undefined
  /** Names the answer in the server's log. */
  readonly requestId: string | undefined
  /** Of a submit: `generate` with the same key and prompt finds the generation that it may have made. */
  readonly idempotencyKey: string | undefined

  constructor(code: string, message: string, { cause, ...facts }: EaselErrorFacts = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'EaselError'
    this.code = code
    Object.assign(this, facts)
  }
}

/** Error itself has no cause in the libraries before ES2022. */
export type EaselErrorFacts = Partial<Omit<EaselError, 'name' | 'message' | 'stack' | 'code' | 'cause'>> & {
  readonly cause?: unknown
}

/** What a refusal says, in the shape of either interface. */
export function refusal({ status, headers }: Response, body: unknown, about: EaselErrorFacts = {}): EaselError {
  const { error } = (body ?? {}) as { error?: string | { message?: string } }
  const message = typeof error === 'string' ? error : error?.message
  const code = headers.get('x-error-code') ?? `http_${status}`
  return new EaselError(code, message ?? `The server answered with status ${status}.`, {
    ...about,
    status,
    generationId: headers.get('x-active-generation') ?? about.generationId,
    retryAfterSeconds: retryAfterOf(headers),
    requestId: headers.get('x-request-id') ?? undefined,
  })
}

/** Undefined unless it says so in seconds. */
export function retryAfterOf(headers: Headers): number | undefined {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined
}
