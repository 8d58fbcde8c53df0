import { and, asc, eq, sql } from 'drizzle-orm'
import type pg from 'pg'
import { type Idea, type IdeaBody, MAX_IDEAS, type UpNextStore } from '../../core/up-next/up-next.js'
import { type Database, withTransaction } from '../client.js'
import { UP_NEXT_DUE } from '../notifications.js'
import { users as u } from '../schema/accounts.js'
import { upNextIdeas as i, upNext as n } from '../schema/up-next.js'
import { columns, param, type Queryable, setList, statement } from '../statement.js'

const OWN = sql`${n.userId} = ${param('accountId')}::uuid`
const OWN_IDEAS = sql`${i.userId} = ${param('accountId')}::uuid`
const OWN_IDEA = sql`${i.id} = ${param('id')}::uuid AND ${OWN_IDEAS}`
const TOLD = sql`RETURNING pg_notify(${UP_NEXT_DUE}, '')`
const CHANGED = { version: sql`${n.version} + 1` }

/** Whoever changes the ideas of an account does so alone. */
const LOCK = statement('lock_up_next')`SELECT FROM ${n} WHERE ${OWN} FOR NO KEY UPDATE`

const BEGIN_OR_LOCK = statement('begin_up_next')`
  INSERT INTO ${n} (user_id, due_at) VALUES (${param('accountId')}::uuid, now())
  ON CONFLICT (user_id) DO UPDATE
    SET ${setList(n, { dueAt: sql`CASE WHEN ${n.paused} IS NULL THEN now() END`, ...CHANGED })} ${TOLD}`

const ADD = statement<{ id: string }>('add_idea')`
  INSERT INTO ${i} (user_id, position, body)
  SELECT ${param('accountId')}::uuid, coalesce(max(${i.position}), 0) + 1, ${param('body')}::jsonb FROM ${i} WHERE ${OWN_IDEAS}
  HAVING count(*) < ${MAX_IDEAS} RETURNING id`

const REPLACE = statement('replace_idea')`
  UPDATE ${i} SET ${setList(i, { id: sql`gen_random_uuid()`, body: sql`${param('body')}::jsonb`, refusal: null })}
   WHERE ${OWN_IDEA}`

const moving = (name: string, way: 'up' | 'down') => statement(name)`
  WITH moved AS (SELECT ${i.id}, ${i.position} FROM ${i} WHERE ${OWN_IDEA}), other AS (
    SELECT ${i.id}, ${i.position} FROM ${i}, moved
     WHERE ${OWN_IDEAS} AND ${way === 'up' ? sql`${i.position} < moved.position` : sql`${i.position} > moved.position`}
     ORDER BY ${i.position} ${sql.raw(way === 'up' ? 'DESC' : 'ASC')} LIMIT 1
  )
  UPDATE ${i} SET position = CASE ${i.id} WHEN moved.id THEN other.position ELSE moved.position END
    FROM moved, other WHERE ${i.id} IN (moved.id, other.id)`
const MOVE = { up: moving('move_idea_up', 'up'), down: moving('move_idea_down', 'down') }

const REMOVE = statement('remove_idea')`DELETE FROM ${i} WHERE ${OWN_IDEA}`
const CLEAR = statement('clear_up_next')`DELETE FROM ${i} WHERE ${OWN_IDEAS}`

// What was refused is gone: what is added next is not.
const FORGET_REFUSAL = statement('forget_refusal_of_up_next')`
  UPDATE ${n} SET paused = NULL
   WHERE ${OWN} AND ${n.paused} = 'by_refusal' AND NOT EXISTS (SELECT FROM ${i} WHERE ${OWN_IDEAS})`

const PAUSE = statement('pause_up_next')`
  INSERT INTO ${n} (user_id, paused) VALUES (${param('accountId')}::uuid, 'by_person')
  ON CONFLICT (user_id) DO UPDATE SET ${setList(n, { paused: 'by_person', dueAt: null, ...CHANGED })}`

const GO_ON = statement('go_on_with_up_next')`
  WITH tried AS (UPDATE ${i} SET ${setList(i, { refusal: null })} WHERE ${OWN_IDEAS} AND ${i.refusal} IS NOT NULL)
  UPDATE ${n} SET ${setList(n, { paused: null, dueAt: sql`now()`, ...CHANGED })} WHERE ${OWN} ${TOLD}`

export function upNextStore(db: Database): UpNextStore {
  const { orm } = db
  const changing = <T>(accountId: string, lock: typeof LOCK, work: (client: Queryable) => Promise<T>): Promise<T> =>
    withTransaction(db, async (_tx, client: pg.PoolClient) => {
      await lock.run(client, { accountId })
      return work(client)
    })
  const removing = (accountId: string, what: typeof REMOVE, id?: string) =>
    changing(accountId, LOCK, async (client) => {
      const removed = await what.count(client, { accountId, id })
      await FORGET_REFUSAL.run(client, { accountId })
      return removed > 0
    })
  const idea = columns(i, 'id', 'body', 'refusal')

  return {
    async of(accountId) {
      // At once: between two statements a server may refuse one and pause the list.
      const rows = await orm
        .select({ paused: n.paused, idea })
        .from(u)
        .leftJoin(n, eq(n.userId, u.id))
        .leftJoin(i, eq(i.userId, u.id))
        .where(eq(u.id, accountId))
        .orderBy(asc(i.position))
      return { ideas: rows.flatMap((row) => row.idea ?? []), paused: rows[0]?.paused ?? null }
    },

    async find(accountId, id): Promise<Idea | undefined> {
      const [found] = await orm
        .select(idea)
        .from(i)
        .where(and(eq(i.id, id), eq(i.userId, accountId)))
      return found
    },

    add: (accountId, body) =>
      changing(accountId, BEGIN_OR_LOCK, async (client) => {
        const added = await ADD.first(client, { accountId, body: textOf(body) })
        return added?.id ?? 'too_many'
      }),

    replace: (accountId, id, body) =>
      changing(accountId, LOCK, async (client) => {
        return (await REPLACE.count(client, { accountId, id, body: textOf(body) })) > 0
      }),

    move: (accountId, id, to) => changing(accountId, LOCK, (client) => MOVE[to].run(client, { accountId, id })),
    remove: (accountId, id) => removing(accountId, REMOVE, id),
    clear: async (accountId) => void (await removing(accountId, CLEAR)),
    pause: (accountId) => PAUSE.run(db.pool, { accountId }),
    goOn: (accountId) =>
      changing(accountId, LOCK, async (client) => {
        await GO_ON.run(client, { accountId })
      }),
  }
}

const textOf = (body: IdeaBody): string => JSON.stringify(body)
