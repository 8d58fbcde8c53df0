import { and, eq, gt, sql } from 'drizzle-orm'
import type { LaterPurges } from '../../core/images/takedown.js'
import type { Database } from '../client.js'
import { cdnPurges as p } from '../schema/images.js'
import { setList, statement } from '../statement.js'

/** Claimed at a time. */
const PURGES = 10

// The first wait is longer than a try may take, the last one is about an hour.
const CLAIM = statement<{ url: string }>('claim_cdn_purges')`
  UPDATE ${p} SET ${setList(p, {
    attempts: sql`${p.attempts} + 1`,
    dueAt: sql`now() + interval '15 seconds' * 2 ^ least(${p.attempts}, 8)`,
  })}
   WHERE ${p.url} = ANY (ARRAY(
           SELECT ${p.url} FROM ${p} WHERE ${p.dueAt} <= now()
            ORDER BY ${p.dueAt} LIMIT ${PURGES} FOR UPDATE SKIP LOCKED))
  RETURNING ${p.url}`

/** @param afterSeconds longer than a CDN takes to fetch an image */
export const laterPurges = ({ orm, pool }: Database, afterSeconds = 15): LaterPurges => ({
  async add(url) {
    const again = { attempts: 0, dueAt: sql`now() + ${afterSeconds} * interval '1 second'` }
    await orm
      .insert(p)
      .values({ url, ...again })
      .onConflictDoUpdate({ target: p.url, set: again })
  },

  claimDue: async () => (await CLAIM.rows(pool)).map(({ url }) => url),

  // Not one that was added since it was claimed.
  async finish(url) {
    await orm.delete(p).where(and(eq(p.url, url), gt(p.attempts, 0)))
  },
})
