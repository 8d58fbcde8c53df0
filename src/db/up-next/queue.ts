import { sql } from 'drizzle-orm'
import type { ClaimedUpNext, UpNextQueue } from '../../core/up-next/submitting.js'
import type { Idea } from '../../core/up-next/up-next.js'
import { type Database, withTransaction } from '../client.js'
import { upNextIdeas as i, upNext as n } from '../schema/up-next.js'
import { columns, param, selectAs, setList, statement } from '../statement.js'

const IN_SECONDS = sql`now() + make_interval(secs => ${param('seconds')}::float8)`
const CHANGED = { version: sql`${n.version} + 1` }

const CLAIM = statement<{ accountId: string; version: number }>('claim_up_next')`
  UPDATE ${n} SET ${setList(n, { dueAt: IN_SECONDS, ...CHANGED })}
   WHERE ${n.userId} = (
     SELECT ${n.userId} FROM ${n} WHERE ${n.dueAt} <= now() ORDER BY ${n.dueAt} LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED)
  RETURNING ${selectAs({ accountId: n.userId, version: n.version })}`

// In a statement of its own: it must see what was stored before the claim.
const FIRST = statement<Pick<Idea, 'id' | 'body'> & { isNew: boolean }>('first_idea')`
  SELECT ${selectAs({ ...columns(i, 'id', 'body'), isNew: sql<boolean>`(${i.createdAt} > now() - interval '1 minute')` })} FROM ${i} WHERE ${i.userId} = ${param('accountId')}::uuid
   ORDER BY ${i.position} LIMIT 1`

/** Nobody has claimed or changed it since. */
const THIS_CLAIM = sql`${n.userId} = ${param('accountId')}::uuid AND ${n.version} = ${param('version')}::bigint`

const LATER = statement('up_next_later')`
  UPDATE ${n} SET ${setList(n, {
    dueAt: sql`CASE WHEN EXISTS (SELECT FROM ${i} WHERE ${i.userId} = ${param('accountId')}::uuid) THEN ${IN_SECONDS} END`,
    ...CHANGED,
  })} WHERE ${THIS_CLAIM}`

const LOCK = statement('lock_claim_of_up_next')`SELECT FROM ${n} WHERE ${THIS_CLAIM} FOR NO KEY UPDATE`

const MARK = statement('mark_refused_idea')`
  UPDATE ${i} SET ${setList(i, { refusal: param('sentence') })}
   WHERE ${i.id} = ${param('id')}::uuid AND ${i.userId} = ${param('accountId')}::uuid`

const REFUSED = statement('up_next_refused')`
  UPDATE ${n} SET ${setList(n, { paused: 'by_refusal', dueAt: null, ...CHANGED })} WHERE ${THIS_CLAIM}`

const FORGET = statement('forget_up_next')`DELETE FROM ${n} WHERE ${n.userId} = ${param('accountId')}::uuid`

export function upNextQueue(db: Database): UpNextQueue {
  const { pool } = db
  const later: UpNextQueue['later'] = ({ accountId, version }, seconds) =>
    LATER.run(pool, { accountId, version, seconds })

  return {
    async claim(seconds): Promise<ClaimedUpNext | undefined> {
      const claimed = await CLAIM.first(pool, { seconds })
      return claimed && { ...claimed, idea: await FIRST.first(pool, claimed) }
    },

    later,

    async refused({ accountId, version, idea }, sentence) {
      const claim = { accountId, version }
      const isMarked = await withTransaction(db, async (_tx, client) => {
        // Before its ideas, like everybody who changes them.
        if ((await LOCK.count(client, claim)) === 0) return true
        if ((await MARK.count(client, { accountId, id: idea?.id, sentence })) === 0) return false
        await REFUSED.run(client, claim)
        return true
      })
      if (!isMarked) await later({ ...claim, idea }, 0)
    },

    forget: (accountId) => FORGET.run(pool, { accountId }),
  }
}
