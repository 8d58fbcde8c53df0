/** Lists in pages: a place in a list, as clients hand it back. */
import { z } from 'zod'
import type { Place } from '../page.js'
import { queryInteger } from './fields.js'

const PAGE = { min: 1, max: 100, usual: 20 }
const NOT_A_CURSOR = 'cursor must be a next_cursor of this list: leave it out to begin with the newest.'

/** Opaque to clients, so that a list may come to need other places. */
const encoded = (place: Place): string => Buffer.from(place.join('.')).toString('base64url')

function decoded(cursor: string, numbers: number): Place | undefined {
  const place = Buffer.from(cursor, 'base64url').toString('latin1').split('.').map(Number)
  return place.length === numbers && place.every((n) => Number.isSafeInteger(n) && n >= 0) && encoded(place) === cursor
    ? place
    : undefined
}

/** The fields of a list's query, for places of so many numbers. */
export const pageFields = (numbers: number) => ({
  limit: queryInteger('limit', PAGE.min, PAGE.max, PAGE.usual).describe('How many at most'),
  cursor: z
    .string(NOT_A_CURSOR)
    .max(200, NOT_A_CURSOR)
    .transform((cursor, context): Place => {
      const place = decoded(cursor, numbers)
      if (place) return place
      context.addIssue({ code: 'custom', message: NOT_A_CURSOR })
      return z.NEVER
    })
    .optional()
    .describe("The page before's `next_cursor`"),
})

export const nextCursor = z
  .string()
  .nullable()
  .describe('Goes into `cursor` to get what comes next; null at the end. New ones at the front do not move it')

export const cursorOf = (next: Place | undefined): string | null => (next ? encoded(next) : null)
