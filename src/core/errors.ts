/** Every refusal that the service can give. http/shared/error-bodies.ts says what each becomes in an interface's answers. */
export const ERROR_CODES = [
  'unauthorized',
  'forbidden',
  'invalid_request',
  'payload_too_large',
  'unsupported_media_type',
  'not_found',
  'method_not_allowed',
  'precondition_failed',
  'not_acceptable',
  'subscription_required',
  'model_unavailable',
  'content_policy_violation',
  'insufficient_credits',
  'active_generation',
  'rate_limited',
  'too_many_streams',
  'idempotency_mismatch',
  'idempotency_in_flight',
  'generation_failed',
  'timeout',
  'unavailable',
  'internal',
] as const

export type ErrorCode = (typeof ERROR_CODES)[number]

/** Further facts about a refusal; each interface shows those that its error body has a field for. */
interface ErrorDetail {
  /** The offending field of the request. */
  readonly parameter?: string
  /** Whole seconds, at least 1. */
  readonly retryAfterSeconds?: number
  /** The plan that does not include what was asked for. */
  readonly plan?: string
  /** The generation the refusal is about. */
  readonly generationId?: string | undefined
}

/** A failure a person can meet: a code for programs and one sentence that says what to do. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly detail: ErrorDetail

  constructor(code: ErrorCode, message: string, detail: ErrorDetail = {}, options?: ErrorOptions) {
    // A refusal is an answer: it is not logged, and to capture its stack would only take time.
    const { stackTraceLimit } = Error
    if (code !== 'internal' && code !== 'unavailable') Error.stackTraceLimit = 0
    super(message, options)
    Error.stackTraceLimit = stackTraceLimit
    this.name = 'AppError'
    this.code = code
    this.detail = detail
  }
}

export const missingApiKey = () =>
  new AppError('unauthorized', 'Missing or invalid API key: send the header "Authorization: Bearer <API_KEY>".')
export const invalidApiKey = () =>
  new AppError(
    'unauthorized',
    'Invalid API key: it is unknown, has expired or has been revoked. Create a new one and try again.',
  )
export const developerKeyRefused = () =>
  new AppError('forbidden', 'Developer keys work on the Create Image interface only; use a personal API key here.')
export const operatorKeyRefused = () =>
  new AppError('forbidden', 'Operator keys work on /admin/v1 only; use a personal or developer API key here.')
export const operatorKeyRequired = () =>
  new AppError('forbidden', 'Only operator keys work on /admin/v1: make one with "easel key create NAME --operator".')
export const notOperatorNow = () =>
  new AppError('forbidden', 'The account of this key is no operator any more: use the key of an operator.')
export const beyondScope = (scope: string, needed: string) =>
  new AppError('forbidden', `This key has the scope "${scope}", and this needs ${needed}: use a key that may do it.`)
export const userNotFound = () => new AppError('not_found', 'User not found: the account of this key was deleted.')

export const invalidParameter = (parameter: string, message: string) =>
  new AppError('invalid_request', message, { parameter })

export const invalidUrl = () =>
  new AppError('invalid_request', 'The URL is not valid: percent-encode it as UTF-8, and write "%" itself as %25.')

/** @param had the account's, which is over or held up; null: it has none */
export const noActiveSubscription = (had: object | null) =>
  new AppError(
    'subscription_required',
    `No active subscription: ${had ? 'renew your plan' : 'get a plan'} to generate images.`,
  )

export const modelVersionNotFound = (id: number | string) =>
  new AppError('not_found', `Model version ${id} not found. GET /api/v1/models lists the available ones.`, {
    parameter: 'model_version_id',
  })

export const modelVersionUnavailable = (id: number) =>
  new AppError('model_unavailable', `Model version ${id} is not available for generation. Choose another one.`, {
    parameter: 'model_version_id',
  })

/** A model version, in the words and by the field of the interface that it was asked for on. */
export interface AskedModel {
  readonly named: string
  readonly parameter: string
}

export const modelNotInPlan = (plan: string, { named, parameter }: AskedModel) =>
  new AppError(
    'model_unavailable',
    `Your plan "${plan}" does not include ${named}. Choose another one, or change your plan.`,
    { parameter, plan },
  )

export const modelNotOfKey = ({ named, parameter }: AskedModel) =>
  new AppError('model_unavailable', `This API key is not for ${named}. Choose another one, or use another key.`, {
    parameter,
  })

export const createImageModelNotFound = (model: string) =>
  new AppError('not_found', `Model "${model}" is not installed on this server. Choose another model.`, {
    parameter: 'model',
  })

export const createImageModelUnavailable = (model: string) =>
  new AppError('model_unavailable', `Model "${model}" is not available for generation. Choose another model.`, {
    parameter: 'model',
  })

/**
 * @param matched the recognised words of the prompt, as the user wrote them or as they read without their disguise;
 *   undefined: they are not told, and no advice is given
 */
export function promptFlagged(parameter: string, category: string, matched?: readonly string[]): AppError {
  if (!matched)
    return new AppError('content_policy_violation', `Prompt flagged by moderation: ${category}.`, { parameter })
  const words = matched.map((word) => `"${word}"`).join(', ')
  const message = words
    ? `Prompt flagged by moderation: ${category} (matched: ${words}). Rephrase it and try again.`
    : `Prompt flagged by moderation: ${category}. Rephrase it and try again.`
  return new AppError('content_policy_violation', message, { parameter })
}

export const moderationUnavailable = () =>
  new AppError('unavailable', 'The prompt could not be checked by moderation right now. Try again in a moment.', {
    retryAfterSeconds: 5,
  })

/** `generationId` lets a client that lost its first answer find the generation again. */
export const generationActive = (generationId?: string, retryAfterSeconds = 2) =>
  new AppError(
    'active_generation',
    `You already have an active generation${generationId ? ` (${generationId})` : ''}. Wait until it has finished, then submit again.`,
    { retryAfterSeconds, generationId },
  )

/** A developer key that already runs as many generations as it may. */
export const tooManyConcurrent = (limit: number) =>
  new AppError(
    'active_generation',
    `This key already has ${limit} active generation${limit === 1 ? '' : 's'}, the most it may run at once. Wait until one has finished.`,
    { retryAfterSeconds: 2 },
  )

export const insufficientCredits = (needed: number, held: number) =>
  new AppError(
    'insufficient_credits',
    `Insufficient credits: this generation needs ${needed} and the account holds ${held}. Add credits and try again.`,
  )

export const keyLimitReached = (needed: number, { limit, spent }: { readonly limit: number; readonly spent: number }) =>
  new AppError(
    'insufficient_credits',
    `This API key may spend ${limit} credits a month and has spent ${spent}: this generation needs ${needed}. Use another key, or raise its limit.`,
  )

export const rateLimited = (max: number, windowSeconds: number, retryAfterSeconds: number) =>
  new AppError(
    'rate_limited',
    `You have reached the rate limit of ${max} requests per ${windowSeconds} seconds. Try again in ${retryAfterSeconds} s.`,
    { retryAfterSeconds },
  )

export const tooManyGuesses = (retryAfterSeconds: number) =>
  new AppError(
    'rate_limited',
    `Too many unknown API keys from this address: the rate limit for them is reached. Try again in ${retryAfterSeconds} s.`,
    { retryAfterSeconds },
  )

export const tooManyStreams = (max: number) =>
  new AppError(
    'too_many_streams',
    `You already have ${max} event streams open, the most an account may have at once. Close one, or poll instead.`,
    { retryAfterSeconds: 5 },
  )

export const idempotencyMismatch = () =>
  new AppError(
    'idempotency_mismatch',
    'This Idempotency-Key was already used with another request body. Use a new key for a new request.',
  )

export const idempotencyInFlight = () =>
  new AppError(
    'idempotency_in_flight',
    'A request with this Idempotency-Key is still being processed. Repeat it in a second to get its answer.',
    { retryAfterSeconds: 1 },
  )

/** @param what changed: `image` */
export const preconditionFailed = (what: string) =>
  new AppError(
    'precondition_failed',
    `The ${what} is not the one that If-Match or If-Unmodified-Since names: ask without them for what is there now.`,
  )

export const ideaGone = () =>
  new AppError('not_found', 'This idea is not in Up next any more: it was begun, changed or removed. Add it again.')
export const generationNotFound = () => new AppError('not_found', 'Generation not found: check the ID.')
export const generationIdMissing = () =>
  invalidParameter('id', 'Generation ID is missing: poll GET /api/v1/generate/<id>.')
/** @param advice a sentence that says what to do */
export const endpointNotFound = (method: string, path: string, advice?: string) =>
  new AppError('not_found', `No such endpoint: ${method} ${path}.${advice ? ` ${advice}` : ''}`)
export const methodNotAllowed = (method: string, path: string, allowed: string) =>
  new AppError('method_not_allowed', `Method ${method} is not allowed on ${path}: use ${allowed}.`)

export const generationFailed = (reason: string) => new AppError('generation_failed', reason)

export const generationTimedOut = (generationId: string, seconds: number, stillRuns: boolean) =>
  new AppError(
    'timeout',
    stillRuns
      ? `The image was not ready after ${seconds} s. Generation ${generationId} goes on and its image will be saved to your account.`
      : `No GPU was free within ${seconds} s, so generation ${generationId} was canceled and any credits charged for it were given back. Try again later.`,
    { generationId },
  )

export function serviceUnavailable(retryAfterSeconds: number, cause?: unknown): AppError {
  const message = 'The service is temporarily unavailable. Try again in a moment.'
  return new AppError('unavailable', message, { retryAfterSeconds }, { cause })
}

export const shuttingDown = (generationId?: string) =>
  new AppError(
    'unavailable',
    generationId
      ? `This server is restarting. Generation ${generationId} goes on and its image will be saved to your account.`
      : 'This server is restarting. Try again in a moment.',
    { retryAfterSeconds: 2, generationId },
  )

export const imageNotFound = () => new AppError('not_found', 'Image not found: check the ID.')
export const imageFileMissing = () =>
  new AppError('not_found', 'The file of this image is missing on the server: tell its operator.')
export const imageTakenDown = () => new AppError('not_found', 'This image was removed and is no longer available.')
export const imageRemoved = () =>
  new AppError('not_found', 'The image of this generation was removed. Submit it again with a new Idempotency-Key.')
