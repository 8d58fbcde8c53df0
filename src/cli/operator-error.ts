import { DrizzleQueryError } from 'drizzle-orm'
import { AppError } from '../core/errors.js'
import { BackendError } from '../core/generations/run/backend.js'
import { isOutage } from '../core/outage.js'
import { databaseRefusal } from '../db/checks/database-checks.js'
import { sqlState } from '../db/sql-state.js'
import { messageOf, reasonOf } from '../lib/causes.js'

/** The command can't be done; the message is one sentence that says why or what to do instead. */
export class OperatorError extends Error {}

/** One sentence for whatever went wrong. */
export function sentenceOf(error: unknown): string {
  if (error instanceof OperatorError) return error.message
  if (error instanceof AppError) return withHint(error)
  if (error instanceof BackendError) return `${error.message}; ${adviceFor(error)}.`
  const known = databaseRefusal(error)
  if (known) return known
  const told = withoutQuery(error)
  if (sqlState(told) && isOutage(told)) return `Postgres cannot do that now (${told.message}): try again.`
  if (isOutage(told))
    return `Postgres can't be reached (${reasonOf(told)}): check DATABASE_URL, and that Postgres runs.`
  return messageOf(told)
}

/** By what a refusal is about: where to look for it. */
const HINTS: Readonly<Record<string, string>> = {
  username: '"easel user list" shows all',
  email: '"easel user list" shows who',
  plan_name: '"easel plans list" shows all',
  key_id: '"easel key list USERNAME" shows them',
  model_version_id: '"easel models list" shows them',
  generation_id: '"easel jobs list" shows them',
  refusal_id: '"easel moderation list" shows them',
  report_slug: '"easel reports list" shows what is reported',
  unmatched_id: '"easel payments list --unmatched" shows what is',
  pack_name: '"easel packs list" shows all',
}

/** A refusal of the core, with a field named as the option that it is here. */
function withHint({ message, detail: { parameter = '' } }: AppError): string {
  const hint = HINTS[parameter]
  if (hint) return message.replace(/\.$/, `: ${hint}.`)
  return parameter === ''
    ? message
    : message.replaceAll(new RegExp(`\\b${parameter}\\b`, 'g'), `--${parameter.replaceAll('_', '-')}`)
}

function adviceFor({ kind }: BackendError): string {
  if (kind === 'auth') return 'put the right user:password@ into the URL'
  if (kind === 'unavailable' || kind === 'unusable' || kind === 'lost')
    return 'check the address, and that it runs with its API on'
  return kind === 'timeout' ? 'look at its log' : 'look at its log and try a newer version of it'
}

/** The messages of Drizzle's own errors hold the query's parameters, prompts among them; their cause tells why. */
function withoutQuery(error: unknown): Error {
  let told = error instanceof Error ? error : new Error(reasonOf(error))
  while (told instanceof DrizzleQueryError && told.cause) told = told.cause
  return told
}
