import { DrizzleQueryError } from 'drizzle-orm'
import { BackendError } from '../core/generations/run/backend.js'
import { isOutage } from '../core/outage.js'
import { databaseRefusal } from '../db/checks/database-checks.js'
import { sqlState } from '../db/sql-state.js'

/** The command can't be done; the message is one sentence that says why or what to do instead. */
export class OperatorError extends Error {}

/** One sentence for whatever went wrong. */
export function sentenceOf(error: unknown): string {
  if (error instanceof OperatorError) return error.message
  if (error instanceof BackendError) return `${error.message}; ${adviceFor(error)}.`
  const known = databaseRefusal(error)
  if (known) return known
  const told = withoutQuery(error)
  if (sqlState(told) && isOutage(told)) return `Postgres cannot do that now (${told.message}): try again.`
  if (isOutage(told))
    return `Postgres can't be reached (${told.message || told.code}): check DATABASE_URL, and that Postgres runs.`
  return told.message || 'Something went wrong.'
}

function adviceFor({ kind }: BackendError): string {
  if (kind === 'auth') return 'put the right user:password@ into the URL'
  if (kind === 'unavailable' || kind === 'unusable' || kind === 'lost')
    return 'check the address, and that it runs with its API on'
  return kind === 'timeout' ? 'look at its log' : 'look at its log and try a newer version of it'
}

/** The messages of Drizzle's own errors hold the query's parameters, prompts among them; their cause tells why. */
function withoutQuery(error: unknown): Error & { readonly code?: string } {
  let told: Error = error instanceof Error ? error : new Error(String(error))
  while (told instanceof DrizzleQueryError && told.cause) told = told.cause
  return told
}
