import { desc, lt, type SQLWrapper, sql } from 'drizzle-orm'
import type pg from 'pg'
import type { OperatorAct, OperatorActions } from '../../core/operator/operator-actions.js'
import { pageById } from '../../lib/page.js'
import type { Archive } from '../archive.js'
import { type Database, ormOn, Rollback, withTransaction } from '../client.js'
import type { ConnectionPool } from '../connection-pool.js'
import { operatorActions as a } from '../schema/operator.js'
import { sqlState } from '../sql-state.js'
import { columns, insertInto, type Queryable, statement, typedParams } from '../statement.js'

const ACT = typedParams(a, 'actor', 'action', 'target', 'reason')

/** For a statement that does something and records it: parameters `actor`, `action`, `target`, `reason`. */
export const recordingOf = (done: SQLWrapper) => sql`${insertInto(a, ACT)} FROM ${done}`

const RECORD = statement('record_operator_action')`${insertInto(a, ACT)}`

/** Records an act within a transaction. */
const recordAct = (on: Queryable, act: OperatorAct): Promise<void> => RECORD.run(on, act)

export const operatorActionStore = ({ orm, pool }: Database): OperatorActions => ({
  record: (act) => recordAct(pool, act),

  async list({ limit, after: [before] = [] }) {
    const rows = await orm
      .select(columns(a, 'id', 'at', 'actor', 'action', 'target', 'reason'))
      .from(a)
      .where(before === undefined ? undefined : lt(a.id, before))
      .orderBy(desc(a.id))
      .limit(limit + 1)
    return pageById(rows, limit)
  },
})

/**
 * Does something and records it in one transaction: neither is done without the other. Nothing remote belongs inside.
 * @param work gets a Database whose statements all belong to the transaction; when it throws, nothing was done
 * @param actOf what to record of its result; undefined: there was nothing to do
 */
export const recorded = <T>(
  db: Database,
  work: (db: Database) => Promise<T>,
  actOf: (done: T) => OperatorAct | undefined,
): Promise<T> =>
  inTransaction(db, async (on) => {
    const done = await work(on)
    const act = actOf(done)
    if (act) await recordAct(on.pool, act)
    return done
  })

/** What the work looked for may be in the archive. */
class MayBeArchived extends Rollback {
  readonly asked: Parameters<Archive['bringBack']>

  constructor(asked: Parameters<Archive['bringBack']>) {
    super()
    this.asked = asked
  }
}

/**
 * @param work gets a Database whose statements all belong to the transaction. What it needs from the archive is brought back
 * after the transaction, which would not see it: then the work is done again
 */
export async function inTransaction<T>(db: Database, work: (db: Database) => Promise<T>): Promise<T> {
  const known = new Set<string>()
  const bringBack: Archive['bringBack'] = async (names, accountId) => {
    if (names.every((name) => known.has(name))) return false
    throw new MayBeArchived([names, accountId])
  }
  const archive = db.archive && { ...db.archive, bringBack }
  for (;;)
    try {
      return await withTransaction(db, (_tx, client) => work({ ...databaseOf(client, db), archive }))
    } catch (error) {
      if (!(error instanceof MayBeArchived)) throw error
      await db.archive?.bringBack(...error.asked)
      for (const name of error.asked[0]) known.add(name)
    }
}

/** How a transaction begins and ends within the one that is open. */
const NESTED: Readonly<Record<string, string>> = {
  BEGIN: 'SAVEPOINT nested',
  COMMIT: 'RELEASE SAVEPOINT nested',
  // Released, too: a name that stays would stand for the wrong place once the one around it rolls back.
  ROLLBACK: 'ROLLBACK TO SAVEPOINT nested; RELEASE SAVEPOINT nested',
}

/** The client of an open transaction as a Database. As on a pool, what Postgres refuses leaves the rest as it is. */
function databaseOf(client: pg.PoolClient, { noteFailure }: Database): Omit<Database, 'archive'> {
  let free: Promise<unknown> = Promise.resolve()
  /** One at a time: a savepoint holds for all that follows it. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = free.then(work)
    free = turn.catch(() => undefined)
    return turn
  }
  const query = (...asked: Parameters<pg.PoolClient['query']>) =>
    inTurn(async () => {
      await client.query('SAVEPOINT statement')
      try {
        const answer = await client.query(...asked)
        await client.query('RELEASE SAVEPOINT statement')
        return answer
      } catch (error) {
        if (sqlState(error) !== undefined) await client.query('ROLLBACK TO SAVEPOINT statement')
        throw error
      }
    })
  const nested = (asked: unknown, ...values: unknown[]) =>
    client.query((NESTED[asked as string] ?? asked) as string, ...(values as []))
  const connect = () =>
    new Promise((resolve) => {
      const lend = () => new Promise<void>((release) => resolve({ query: nested, release }))
      void inTurn(lend)
    })
  const pool = { query, connect } as unknown as ConnectionPool
  return { orm: ormOn(pool), pool, noteFailure }
}
