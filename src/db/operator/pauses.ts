import { sql } from 'drizzle-orm'
import type { Pause, PauseStore } from '../../core/operator/pauses.js'
import type { Database } from '../client.js'
import { WAITING } from '../notifications.js'
import { modelVersions as m } from '../schema/catalog.js'
import { pauses as p } from '../schema/operator.js'
import { backends as b } from '../schema/workers.js'
import { columns, insertInto, param, statement, typedParams } from '../statement.js'
import { recordingOf } from './operator-actions.js'

const PAUSE = statement('pause')`
  WITH done AS (
    ${insertInto(p, typedParams(p, 'scope', 'target', 'reason'))} ON CONFLICT DO NOTHING RETURNING scope
  ), recorded AS (${recordingOf(sql`done`)})
  SELECT FROM done`

const RESUME = statement('resume')`
  WITH done AS (
    DELETE FROM ${p} WHERE ${p.scope} = ${param('scope')} AND ${p.target} = ${param('target')} RETURNING scope
  ), recorded AS (${recordingOf(sql`done`)})
  SELECT pg_notify(${WAITING}, '') FROM done`

const KNOWS = statement('knows_pausable')`
  SELECT WHERE CASE ${param('scope')}::text
    WHEN 'model' THEN EXISTS (SELECT FROM ${m} WHERE ${m.filename} = ${param('target')}::text)
    WHEN 'backend' THEN EXISTS (SELECT FROM ${b} WHERE ${b.name} = ${param('target')}::text) ELSE true END`

export const pauseStore = ({ orm, pool }: Database): PauseStore => ({
  pause: async (what, by) => (await PAUSE.count(pool, { ...what, ...by, action: `paused ${NOUN[what.scope]}` })) === 1,
  resume: async (what, by) =>
    (await RESUME.count(pool, { ...what, ...by, action: `resumed ${NOUN[what.scope]}` })) === 1,
  knows: async (what) => (await KNOWS.count(pool, what)) === 1,
  list: (): Promise<Pause[]> =>
    orm
      .select(columns(p, 'scope', 'target', 'reason', 'pausedAt'))
      .from(p)
      .orderBy(p.scope, p.target),
})

const NOUN = { all: 'everything', model: 'model', backend: 'backend' } as const
