/** What an error of Postgres says. */
import pg from 'pg'
import { causesOf } from '../lib/causes.js'

/** Postgres's own error, which Drizzle wraps. */
export const databaseError = (error: unknown): pg.DatabaseError | undefined =>
  causesOf(error)
    .map(({ thrown }) => thrown)
    .find((one) => one instanceof pg.DatabaseError)

export const sqlState = (error: unknown): string | undefined => databaseError(error)?.code
export const violatedConstraint = (error: unknown): string | undefined => databaseError(error)?.constraint

/** Whether the answer to a statement was lost: it may have been executed or not. */
export const outcomeUnknown = (error: unknown): boolean => {
  if (error instanceof TypeError) return false // never sent
  const state = sqlState(error)
  // 57P01-57P03: the server ended the connection; 08xxx: the connection broke.
  return state === undefined || state.startsWith('08') || /^57P0[1-3]$/.test(state)
}

/**
 * Whether Postgres refused the statement for its data or its time, and the connection still works. After other errors it
 * may not: a prepared statement whose table was altered fails on its connection for ever (0A000).
 */
export const isSqlRefusal = (error: unknown): boolean => /^(22|23|40|55|57014|P0)/.test(sqlState(error) ?? '')

/** Somebody holds one of the rows or tables for longer than this waits, or a step is too long: a lock's time, a deadlock, or a statement's time. */
export const isBusy = (error: unknown): boolean => /^(55P03|40P01|57014)$/.test(sqlState(error) ?? '')

/** The row has moved to another table; or it and others were locked in another order by who moves them, which is a deadlock. */
const MOVED_MEANWHILE = /^(40001|40P01)$/
/** Of rows that are changed together each may move in a step of its own. */
const ROUNDS = 20

/** Postgres refuses a statement that waited for a row which then moved to its month, and has changed nothing: the next round finds it there. */
export async function againIfMoved<T>(work: () => Promise<T>): Promise<T> {
  for (let round = 1; ; round++) {
    try {
      return await work()
    } catch (error) {
      if (!MOVED_MEANWHILE.test(sqlState(error) ?? '') || round === ROUNDS) throw error
    }
  }
}
