/** The fields of queries, and the pages of a list. */
import { z } from 'zod'
import type { Place } from '../page.js'

const integerText = (name: string, min: number, max: number) => {
  const message = `${name} must be an integer from ${min} to ${max}.`
  return z
    .string(message)
    .regex(/^\d{1,15}$/, message)
    .refine((value) => Number(value) >= min && Number(value) <= max, message)
}

/** An integer in a query. */
const queryInteger = (name: string, min: number, max: number, fallback: number) =>
  integerText(name, min, max)
    .default(String(fallback))
    .meta({ type: 'integer', minimum: min, maximum: max, default: fallback })
    .transform(Number)

/** An integer in a query that may be left out. */
export const optionalQueryInteger = (name: string, min: number, max: number) =>
  integerText(name, min, max)
    .optional()
    .meta({ type: 'integer', minimum: min, maximum: max })
    .transform((value) => (value === undefined ? undefined : Number(value)))

/** `true` or `false` in a query, nothing else. */
export const queryFlag = (name: string) =>
  z
    .enum(['true', 'false'], `${name} must be true or false.`)
    .default('false')
    .transform((value) => value === 'true')

/** An ISO 8601 time with its zone in a query. */
export const queryTime = (name: string) =>
  z.iso
    .datetime({ offset: true, error: `${name} must be an ISO 8601 time such as 2026-01-31T00:00:00Z.` })
    .transform((value) => new Date(value))

const PAGE = { min: 1, max: 100, default: 20 }
const CURSOR_ISSUE = 'cursor must be a next_cursor of this list: leave it out to begin with the newest.'

/** A place in a list as clients get it: opaque, so that its form may change. */
const encodeCursor = (place: Place): string => Buffer.from(place.join('.')).toString('base64url')

function decodeCursor(cursor: string, numbers: number): Place | undefined {
  const place = Buffer.from(cursor, 'base64url').toString('latin1').split('.').map(Number)
  return place.length === numbers &&
    place.every((n) => Number.isSafeInteger(n) && n >= 0) &&
    encodeCursor(place) === cursor
    ? place
    : undefined
}

/** The query fields of a list in pages. @param numbers how many numbers a place in the list has */
export const pageFields = (numbers: number) => ({
  limit: queryInteger('limit', PAGE.min, PAGE.max, PAGE.default).describe('How many at most'),
  cursor: z
    .string(CURSOR_ISSUE)
    .max(200, CURSOR_ISSUE)
    .transform((cursor, context): Place => {
      const place = decodeCursor(cursor, numbers)
      if (place) return place
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

export const cursorOf = (next: Place | undefined): string | null => (next ? encodeCursor(next) : null)
