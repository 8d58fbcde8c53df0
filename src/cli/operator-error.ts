import { DrizzleQueryError } from 'drizzle-orm'
import { refusalOf } from '../db/database-checks.js'
import { isOutage } from '../outage.js'

/** The command can't be done; the message is one sentence that says why or what to do instead. */
export class OperatorError extends Error {}

/** One sentence for whatever went wrong. */
export function sentenceOf(error: unknown): string {
  if (error instanceof OperatorError) return error.message
  const known = refusalOf(error)
  if (known) return known
  const told = withoutQuery(error)
  if (isOutage(told)) {
    const { code } = told as { code?: string }
    return `Postgres can't be reached (${told.message || code}): check DATABASE_URL and that it is running.`
  }
  return told.message || 'Something went wrong.'
}

/** The messages of Drizzle's own errors hold the query's parameters, prompts among them; their cause tells why. */
function withoutQuery(error: unknown): Error {
  let told = error instanceof Error ? error : new Error(String(error))
  while (told instanceof DrizzleQueryError && told.cause) told = told.cause
  return told
}
