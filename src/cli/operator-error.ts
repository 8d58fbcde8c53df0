import { DrizzleQueryError } from 'drizzle-orm'
import { sqlState } from '../db/client.js'
import { isOutage } from '../outage.js'

/** What the operator asked for can't be done; the message is one sentence that says why or what to do instead. */
export class OperatorError extends Error {}

const POSTGRES_SENTENCES: Readonly<Record<string, string>> = {
  '28000': 'Postgres refuses the user in DATABASE_URL: correct it.',
  '28P01': 'Postgres refuses the user or the password in DATABASE_URL: correct them.',
  '3D000': 'The database in DATABASE_URL does not exist: create it, or correct DATABASE_URL.',
  '42P01': 'The database is not up to date: run "easel migrate" first.',
  '42703': 'The database is not up to date: run "easel migrate" first.',
  '55P03': 'The rows are in use by another process at the moment: try again.',
  '57014': 'Postgres took too long to answer: try again when it is less busy.',
}

/** One sentence for whatever went wrong. */
export function sentenceOf(error: unknown): string {
  if (error instanceof OperatorError) return error.message
  const known = POSTGRES_SENTENCES[sqlState(error) ?? '']
  if (known) return known
  const told = withoutQuery(error)
  if (isOutage(told)) {
    const { code } = told as { code?: string }
    return `Postgres can't be reached (${told.message || code}): check DATABASE_URL and that it is running.`
  }
  return told.message || 'Something went wrong.'
}

/** The messages of Drizzle's own errors hold the query's parameters, prompts among them; their cause says what is wrong. */
function withoutQuery(error: unknown): Error {
  let told = error instanceof Error ? error : new Error(String(error))
  while (told instanceof DrizzleQueryError && told.cause) told = told.cause
  return told
}
