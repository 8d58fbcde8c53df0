/** Moments and days as people write them. */

const MOMENT = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/

/** A date is its first moment in UTC; a time without an offset is one in UTC, too. Undefined: it is no ISO date from 1970 on. */
export function readMoment(text: string): { readonly at: Date; readonly isDay: boolean } | undefined {
  const [, date, time, offset] = MOMENT.exec(text) ?? []
  const at = new Date(time && !offset ? `${text}Z` : text)
  // Date takes 30 February for 2 March, and Postgres the year 0 for one before Christ, which nothing reads.
  if (date === undefined || date < '1970' || Number.isNaN(at.getTime())) return undefined
  const day = new Date(date)
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(date) ? { at, isDay: !time } : undefined
}

const DAY_MS = 86_400_000

/** The last moment of a day in UTC, to the millisecond. @param day its first moment */
export const endOfDay = (day: Date): Date => new Date(day.getTime() + DAY_MS - 1)

/** Whether it is the last moment of a day in UTC. */
export const isEndOfDay = (at: Date): boolean => (at.getTime() + 1) % DAY_MS === 0

/** When something is to end: a date is the last moment of that day. */
export const endOf = ({ at, isDay }: { readonly at: Date; readonly isDay: boolean }): Date =>
  isDay ? endOfDay(at) : at
