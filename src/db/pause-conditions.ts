/** What operators have paused, as conditions of statements. */
import { type SQLWrapper, sql } from 'drizzle-orm'
import { pauses as p } from './schema/operator.js'
import { backends as b } from './schema/workers.js'

// Each reads a table of a few rows, once per statement: none of them depends on a row.
const targetsOf = (scope: 'model' | 'backend') => sql`ARRAY(SELECT ${p.target} FROM ${p} WHERE ${p.scope} = ${scope})`

export const PAUSED_MODELS = targetsOf('model')
export const ALL_PAUSED = sql`EXISTS (SELECT FROM ${p} WHERE ${p.scope} = 'all')`
export const pausedModel = (filename: SQLWrapper) => sql`(${filename} = ANY (${PAUSED_MODELS}))`
export const pausedBackend = (name: SQLWrapper) => sql`(${name} = ANY (${targetsOf('backend')}))`
/** Over a row `b` of backends. */
export const PAUSED_BACKEND = pausedBackend(b.name)
