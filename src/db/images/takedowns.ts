import { eq, sql } from 'drizzle-orm'
import { REMOVED_BY_OWNER, type Takedowns } from '../../core/images/takedown.js'
import type { Database } from '../client.js'
import { allImages as i, takedowns } from '../schema/images.js'
import { setList, statement } from '../statement.js'

/** Claimed at a time. */
const TAKEDOWNS = 10

// The first wait is longer than a try may take, the last one is about an hour.
const CLAIM_TAKEDOWNS = statement<{ slug: string }>('claim_takedowns')`
  UPDATE ${takedowns} SET ${setList(takedowns, {
    attempts: sql`${takedowns.attempts} + 1`,
    dueAt: sql`now() + interval '15 seconds' * 2 ^ least(${takedowns.attempts}, 8)`,
  })}
   WHERE ${takedowns.slug} = ANY (ARRAY(
           SELECT ${takedowns.slug} FROM ${takedowns} WHERE ${takedowns.dueAt} <= now()
            ORDER BY ${takedowns.dueAt} LIMIT ${TAKEDOWNS} FOR UPDATE SKIP LOCKED))
  RETURNING ${takedowns.slug}`

/** At a time: the others follow a second later. Their order is the index's: without it, all images may be read. */
const DELETED = 500

const END_DELETIONS = statement('end_deletions')`
  UPDATE ${i} SET ${setList(i, { removedAt: sql`now()`, removedReason: sql`${REMOVED_BY_OWNER}` })}
   WHERE ${i.slug} = ANY (ARRAY(
           SELECT ${i.slug} FROM ${i} WHERE ${i.deleteAt} <= now() AND ${i.deleteAt} IS NOT NULL AND ${i.removedAt} IS NULL
            ORDER BY ${i.deleteAt} LIMIT ${DELETED} FOR UPDATE SKIP LOCKED))`

export const takedownStore = ({ orm, pool }: Database): Takedowns => ({
  endDeletions: () => END_DELETIONS.run(pool),

  claimDue: async () => (await CLAIM_TAKEDOWNS.rows(pool)).map(({ slug }) => slug),

  async finish(slug) {
    await orm.delete(takedowns).where(eq(takedowns.slug, slug))
  },
})
