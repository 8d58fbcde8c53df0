/** The fields of bodies and queries. Every message names its field and says what it should be. */
import { z } from 'zod'
import type { Cursor } from '../../lib/page.js'
import { isStorable } from '../../lib/text.js'

export const body = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject(shape, 'The request body must be a JSON object.')

/** A field that may be absent or null, and has this value then. */
export const withDefault = <T extends z.ZodType>(field: T, fallback: z.output<T>) =>
  field
    .nullish()
    .meta({ default: fallback })
    .transform((value): z.output<T> => value ?? fallback)

/** A field that may be absent or null. `fallback` is what it is then, unless the model version says otherwise. */
export const omittable = <T extends z.ZodType>(field: T, fallback: z.output<T>) =>
  field
    .nullish()
    .meta({ default: fallback })
    .transform((value): z.output<T> | undefined => value ?? undefined)

/** The messages of a field that must be there: for a missing value, and for one of the wrong type. */
export const required = (missing: string, wrongType: string | ((issue: { readonly input?: unknown }) => string)) => ({
  error: (issue: { readonly input?: unknown }) => {
    if (issue.input === undefined || issue.input === null) return missing
    return typeof wrongType === 'string' ? wrongType : wrongType(issue)
  },
})

/** A check and its message: Postgres stores neither lone surrogates nor NUL. */
export const validText = (name: string) =>
  [isStorable, `${name} must be valid Unicode text without NUL characters.`] as const

export interface Range {
  readonly min: number
  readonly max: number
}

/** Of a field that is a number. Forms and templates write numbers as text, whose value may well be right. */
export const asNumber =
  (message: string) =>
  ({ input }: { readonly input?: unknown }): string =>
    typeof input === 'string' ? message.replace(/\.?$/, ', without quotation marks.') : message

export const number = (name: string, { min, max }: Range) => {
  const message = `${name} must be a number from ${min} to ${max}.`
  return z
    .number({ error: asNumber(message) })
    .min(min, message)
    .max(max, message)
}

/** @param message says what the field should be, where the range does not say it all */
export const integer = (
  name: string,
  { min, max }: Range,
  message = `${name} must be an integer from ${min} to ${max}.`,
) =>
  z
    .number({ error: asNumber(message) })
    .min(min, message)
    .max(max, message)
    .refine(Number.isInteger, message)
    .meta({ type: 'integer' })

export const choice = <const T extends readonly [string, ...string[]]>(name: string, values: T) =>
  z.enum(values, `${name} must be one of: ${values.join(', ')}.`)

/** The ID in a path. Any string: a malformed ID is answered like one that does not exist. */
export const idParams = (description: string) => z.object({ id: z.string().describe(description) })

const integerText = (name: string, { min, max }: Range) => {
  const message = `${name} must be an integer from ${min} to ${max}.`
  return z
    .string(message)
    .regex(/^\d{1,15}$/, message)
    .refine((value) => Number(value) >= min && Number(value) <= max, message)
    .meta({ type: 'integer', minimum: min, maximum: max })
}

/** An integer in a query. */
export const queryInteger = (name: string, range: Range) => integerText(name, range).transform(Number)

/** `true` or `false` in a query, nothing else; Python writes them with capitals. */
export const queryFlag = (name: string) =>
  z
    .string(`${name} must be true or false.`)
    .toLowerCase()
    .regex(/^(true|false)$/, `${name} must be true or false.`)
    .meta({ enum: ['true', 'false'], pattern: undefined })
    .default('false')
    .transform((value) => value === 'true')

/** An ISO 8601 time with its zone in a query, or a day. */
export const queryTime = (name: string) =>
  z
    .string()
    .meta({ format: 'date-time' })
    .transform((value, context) => {
      // The plus of "+02:00" is a blank in a query, unless it is percent-encoded.
      const { data } = timeOrDay.safeParse(value.replace(/ (?=\d\d:\d\d$)/, '+'))
      if (data !== undefined) return new Date(data)
      context.addIssue(`${name} must be an ISO 8601 time such as 2026-01-31T00:00:00Z.`)
      return z.NEVER
    })

/** A time with its zone, or a day, which begins at midnight UTC. */
const timeOrDay = z.union([z.iso.datetime({ offset: true }), z.iso.date()])

/** A day in a query. */
export const queryDay = (name: string) => {
  const message = `${name} must be a day such as 2026-01-31.`
  return z.iso.date(message).refine((day) => day >= '1971', message)
}

const DEFAULT_PAGE_SIZE = 20
const CURSOR_ISSUE = 'cursor must be a next_cursor of this list: leave it out to begin with the newest.'

/** A place in a list as clients get it: opaque, so that its form may change. */
const encodeCursor = (place: Cursor): string => Buffer.from(place.join('.')).toString('base64url')

/** The query fields of a list in pages. @param numbers how many numbers a place in the list has */
export const page = (numbers: number) => ({
  limit: integerText('limit', { min: 1, max: 100 })
    .default(String(DEFAULT_PAGE_SIZE))
    .meta({ default: DEFAULT_PAGE_SIZE })
    .transform(Number)
    .describe('How many at most'),
  cursor: z
    .string(CURSOR_ISSUE)
    .max(200, CURSOR_ISSUE)
    .transform((cursor, context): Cursor => {
      const place = Buffer.from(cursor, 'base64url').toString('latin1').split('.').map(Number)
      const isPlace = place.length === numbers && place.every((n) => Number.isSafeInteger(n) && n >= 0)
      if (isPlace && encodeCursor(place) === cursor) return place
      context.addIssue({ code: 'custom', message: CURSOR_ISSUE })
      return z.NEVER
    })
    .optional()
    .describe("The page before's `next_cursor`"),
})

export const nextCursor = z
  .string()
  .nullable()
  .describe('Goes into `cursor` to get what comes next; null at the end. New ones at the front do not move it')

export const cursorOf = (next: Cursor | undefined): string | null => (next ? encodeCursor(next) : null)
