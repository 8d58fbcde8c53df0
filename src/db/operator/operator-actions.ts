import { desc, lt, type SQLWrapper, sql } from 'drizzle-orm'
import type { OperatorAct, OperatorActions } from '../../core/operator/operator-actions.js'
import { pageOf } from '../../lib/page.js'
import type { Database } from '../client.js'
import { operatorActions as a } from '../schema/website.js'
import { columns, insertInto, type Queryable, statement, typedParams } from '../statement.js'

const ACT = typedParams(a, 'actor', 'action', 'target', 'reason')

/** For a statement that does something and records it: parameters `actor`, `action`, `target`, `reason`. */
export const recordingOf = (done: SQLWrapper) => sql`${insertInto(a, ACT)} FROM ${done}`

const RECORD = statement('record_operator_action')`${insertInto(a, ACT)}`

/** Records an act within a transaction. */
export const recordAct = (on: Queryable, act: OperatorAct): Promise<void> => RECORD.run(on, act)

export const operatorActionStore = ({ orm, pool }: Database): OperatorActions => ({
  record: (act) => recordAct(pool, act),

  async list({ limit, after: [before] = [] }) {
    const rows = await orm
      .select(columns(a, 'id', 'at', 'actor', 'action', 'target', 'reason'))
      .from(a)
      .where(before === undefined ? undefined : lt(a.id, before))
      .orderBy(desc(a.id))
      .limit(limit + 1)
    return pageOf(
      rows,
      limit,
      (row) => row,
      ({ id }) => [id],
    )
  },
})
