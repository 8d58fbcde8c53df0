/** The fields that several nouns of /admin/v1 share. */
import { z } from 'zod'
import { AppError, beyondScope } from '../../core/errors.js'
import { LARGE_GRANT, MAX_CREDITS } from '../../core/operator/credits.js'
import { MAX_REASON_LENGTH } from '../../core/operator/operator-actions.js'
import { emailAddressIn, MAX_EMAIL_LENGTH } from '../../lib/email-address.js'
import { endOf, readMoment } from '../../lib/moments.js'
import { isLine } from '../../lib/text.js'
import * as field from '../shared/fields.js'
import { idempotencyKeyHeader } from '../shared/idempotency-key.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What a route changes: a key's scope must be this or `all`. Unless it says so, `all`. */
    changes?: 'accounts' | 'models'
  }
}

/** Of what a list of imports, or a workflow in one, may take. */
export const IMPORT_LIMIT = 4 * 1024 * 1024

export const OF_ACCOUNTS = { changes: 'accounts' } as const
export const OF_MODELS = { changes: 'models' } as const

export const line = (name: string, maxLength: number) => {
  const message = `${name} must be one line of 1 to ${maxLength} characters.`
  return z
    .string(message)
    .trim()
    .refine((text) => isLine(text, maxLength), message)
    .meta({ minLength: 1, maxLength })
}

export const reason = line('reason', MAX_REASON_LENGTH)
  .optional()
  .describe('Why; kept in the log of acts. The header `X-Reason` says it, too')

/** Says the headers that a POST takes; X-Reason is read where the act is. */
export const POSTED = idempotencyKeyHeader

/** The body of an act that needs nothing but, perhaps, a reason. */
export const reasonOnly = field.body({ reason }).nullish()

export const amount = (name: string, min: number) => field.integer(name, { min, max: MAX_CREDITS })

export const meant = z
  .boolean('meant must be true or false.')
  .optional()
  .describe(`Needed for more than ${LARGE_GRANT} credits at once`)

/** @throws invalid_request unless these credits are few, or meant */
export function requireMeant(credits: number, isMeant: boolean | undefined): void {
  if (Math.abs(credits) > LARGE_GRANT && !isMeant)
    throw new AppError(
      'invalid_request',
      `${credits} credits are more than ${LARGE_GRANT} at once, so nothing was done: send "meant": true if that is what you mean.`,
      { parameter: 'meant' },
    )
}

const moment = (name: string) => {
  const message = `${name} must be an ISO date like 2027-01-31 or 2027-01-31T12:00:00Z.`
  return z.string(message).transform((text, context) => {
    const read = readMoment(text)
    if (!read) context.addIssue({ code: 'custom', message })
    return read ?? z.NEVER
  })
}

/** When something is to end. */
export const end = (name: string) =>
  moment(name)
    .transform(endOf)
    .refine((at) => at.getTime() > Date.now(), `${name} is over: give a later date.`)
    .meta({ type: 'string', description: 'A day, to its last moment in UTC, or a moment' })

export const rangeBegin = (name: string) =>
  moment(name)
    .transform(({ at }) => at)
    .meta({ type: 'string', description: 'From this day or moment on' })
export const rangeEnd = (name: string) =>
  moment(name)
    .transform((it) => (it.isDay ? new Date(endOf(it).getTime() + 1) : it.at))
    .meta({ type: 'string', description: 'To the end of this day, or before this moment' })

const EMAIL = 'email must be an address like alice@example.com.'
/** Kept in ASCII, also if its domain is written with other letters. */
export const email = z
  .string(EMAIL)
  .transform((text, context) => {
    const address = emailAddressIn(text)
    if (address !== undefined) return address
    context.addIssue({ code: 'custom', message: EMAIL })
    return z.NEVER
  })
  .meta({ type: 'string', format: 'email', maxLength: MAX_EMAIL_LENGTH })

export const ofAccount = z.object({ name: z.string().describe('A username, in capital or small letters') })

const CURSOR = 'cursor must be a next_cursor of this list: leave it out to begin with the first.'
/** A place in the list of accounts, as clients get it. */
export const accountCursor = z
  .string(CURSOR)
  .max(200, CURSOR)
  .refine((cursor) => accountCursorOf(Buffer.from(cursor, 'base64url').toString()) === cursor, CURSOR)
  .transform((cursor) => Buffer.from(cursor, 'base64url').toString())
  .refine((place) => /^[a-z0-9._@+-]{1,64}:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(place), CURSOR)
  .optional()
  .meta({ type: 'string', description: "The page before's `next_cursor`" })
export const accountCursorOf = (next: string | undefined): string | null =>
  next === undefined ? null : Buffer.from(next).toString('base64url')

export const { limit } = field.page(1)

interface Holder {
  readonly role: string
}

/** @throws forbidden where a key of a narrow scope would give access to what operators may do */
export function requireMayAdminister(
  { caller }: { readonly caller: { readonly operatorScope?: string | null } },
  { role }: Holder,
): void {
  if (role === 'operator' && caller.operatorScope !== 'all')
    throw beyondScope(`${caller.operatorScope}`, 'the scope "all", since the account is an operator')
}
