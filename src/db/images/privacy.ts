/** Which images are private, and the moves of their files that are still to be made. */
import { eq, inArray, sql } from 'drizzle-orm'
import {
  type BegunRemoval,
  type ClaimedMove,
  type ImageMoves,
  type ImagePrivacy,
  LEASE_SECONDS,
  REMOVAL_SECONDS,
} from '../../core/images/privacy.js'
import { changedAlsoArchived, orBroughtBack, sum } from '../brought-back.js'
import type { Database } from '../client.js'
import { inMonthOf } from '../months.js'
import { users as u } from '../schema/accounts.js'
import { allGenerations as g } from '../schema/generations.js'
import { allImages as i, imageMoves as m, secrets } from '../schema/images.js'
import { columns, param, setList, statement } from '../statement.js'

// Looked up for each image: a join may begin with all images that the account has.
const IS_OWN = sql`(SELECT ${g.userId} FROM ${g} WHERE ${g.id} = ${i.generationId} AND ${inMonthOf(g, i)}) = ${param('accountId')}::uuid`

const SET = statement('set_private')`
  UPDATE ${i} SET ${setList(i, { isPrivate: sql`${param('isPrivate')}::boolean` })}
   WHERE ${i.slug} = ANY (${param('slugs')}::text[]) AND ${i.removedAt} IS NULL
     AND ${i.isPrivate} <> ${param('isPrivate')}::boolean
     AND ${IS_OWN}`

const REVOKE_LINKS = statement('revoke_image_links')`
  UPDATE ${i} SET ${setList(i, { linkRevocations: sql`${i.linkRevocations} + 1` })}
   WHERE ${i.slug} = ${param('slug')}::text AND ${IS_OWN}`

export const imagePrivacy = (db: Database): ImagePrivacy => ({
  set: (accountId, slugs, isPrivate) =>
    changedAlsoArchived(db, slugs, () => SET.count(db.pool, { accountId, slugs, isPrivate }), sum, accountId),
  setNew: async (accountId, isPrivate) => {
    await db.orm.update(u).set({ newImagesPrivate: isPrivate }).where(eq(u.id, accountId))
  },
  async revokeLinks(accountId, slug) {
    const revoke = async () => (await REVOKE_LINKS.count(db.pool, { accountId, slug })) || undefined
    await orBroughtBack(db, slug, revoke, accountId)
  },
  isMoving: async (slug) => (await db.orm.$count(m, eq(m.slug, slug))) > 0,
})

/** Claimed at a time. */
const MOVES = 10
const REMOVED = sql<boolean>`${i.removedAt} IS NOT NULL`

const LEASE_UNTIL = sql`now() + ${LEASE_SECONDS} * interval '1 second'`
/** The moment itself names the lease: no two end in the same microsecond. */
const LEASE = sql`${m.dueAt}::text`
const IS_HELD = sql`${m.slug} = ${param('slug')}::text AND ${m.dueAt} = ${param('lease')}::timestamptz`

const CLAIM = statement<Pick<ClaimedMove, 'slug' | 'changes' | 'attempts' | 'lease'>>('claim_image_moves')`
  UPDATE ${m} SET ${setList(m, { attempts: sql`${m.attempts} + 1`, dueAt: LEASE_UNTIL })}
   WHERE ${m.slug} = ANY (ARRAY(
           SELECT ${m.slug} FROM ${m} WHERE ${m.dueAt} <= now()
            ORDER BY ${m.dueAt} LIMIT ${MOVES} FOR UPDATE SKIP LOCKED))
  RETURNING ${m.slug} AS slug, ${m.changes} AS changes, ${m.attempts} AS attempts, ${LEASE} AS lease`

const RENEW = statement<{ lease: string }>('renew_image_move')`
  UPDATE ${m} SET ${setList(m, { dueAt: LEASE_UNTIL })} WHERE ${IS_HELD} RETURNING ${LEASE} AS lease`

const BEGIN_REMOVAL = statement<BegunRemoval>('begin_image_removal')`
  WITH before AS (
    SELECT ${m.slug} AS of_slug, coalesce(${m.removingUntil} > now(), false) AS is_removing FROM ${m} WHERE ${IS_HELD} FOR UPDATE)
  UPDATE ${m} SET ${setList(m, {
    dueAt: LEASE_UNTIL,
    removingUntil: sql`now() + ${REMOVAL_SECONDS} * interval '1 second'`,
  })}
    FROM before WHERE ${m.slug} = before.of_slug
  RETURNING ${LEASE} AS lease, before.is_removing AS "isOtherRemoving"`

/** Not by who has lost it to another one. */
const IS_OURS = sql`${m.slug} = ${param('slug')}::text AND ${m.attempts} = coalesce(${param('attempts')}::integer, ${m.attempts})`

const FINISH = statement('finish_image_move')`
  DELETE FROM ${m} WHERE ${IS_OURS} AND ${m.changes} = ${param('changes')}::integer`

// In a statement of its own: it must see a change that has just come.
const MOVE_AGAIN = statement('move_image_again')`
  UPDATE ${m} SET ${setList(m, { attempts: sql`0`, dueAt: sql`now()`, removingUntil: sql`NULL` })}
   WHERE ${IS_OURS} AND ${m.changes} <> ${param('changes')}::integer`

const MOVE_LATER = statement('move_image_later')`
  UPDATE ${m} SET ${setList(m, { attempts: sql`0`, dueAt: sql`${m.removingUntil}` })} WHERE ${IS_OURS}`

// The last pause is about an hour.
const POSTPONE = statement('postpone_image_move')`
  UPDATE ${m} SET ${setList(m, {
    dueAt: sql`greatest(now() + interval '1 second' * 15 * 2 ^ least(${m.attempts}, 8),
                        CASE WHEN ${param('mayRemove')}::boolean THEN now() + ${REMOVAL_SECONDS} * interval '1 second' END)`,
    removingUntil: sql`CASE WHEN ${param('mayRemove')}::boolean THEN now() + ${REMOVAL_SECONDS} * interval '1 second' END`,
  })}
   WHERE ${IS_OURS}`

export const imageMoves = ({ orm, pool }: Database): ImageMoves => ({
  async claimDue() {
    const claimed = new Map((await CLAIM.rows(pool)).map((row) => [row.slug, row]))
    // In a statement of its own: the images are then at least as new as the numbers of their changes.
    const rows = await orm
      .select({ ...columns(i, 'slug', 'isPrivate', 'sha256', 'hasThumbnail'), removed: REMOVED })
      .from(i)
      .where(inArray(i.slug, [...claimed.keys()]))
    return rows.flatMap((row) => {
      const claim = claimed.get(row.slug)
      return claim ? [{ ...row, ...claim }] : []
    })
  },

  renew: async (slug, lease) => (await RENEW.first(pool, { slug, lease }))?.lease,

  beginRemoval: (slug, lease) => BEGIN_REMOVAL.first(pool, { slug, lease }),

  async isRemoved(slug) {
    const [found] = await orm.select({ removed: REMOVED }).from(i).where(eq(i.slug, slug))
    return found?.removed ?? true
  },

  async finish({ slug, changes, attempts }, isOtherRemoving = false) {
    const ours = { slug, changes, attempts }
    if (isOtherRemoving) await MOVE_LATER.run(pool, { slug, attempts })
    else if ((await FINISH.count(pool, ours)) === 0) await MOVE_AGAIN.run(pool, ours)
  },
  postpone: ({ slug, attempts }, mayRemove) => POSTPONE.run(pool, { slug, attempts, mayRemove }),
})

/** What signs links to private images, and hides their folder. Read once: it never changes. */
export function imageSecret({ orm }: Database): () => Promise<Buffer> {
  let known: Promise<Buffer> | undefined
  const read = async () => {
    const [found] = await orm.select(columns(secrets, 'value')).from(secrets).where(eq(secrets.name, 'images'))
    if (!found) throw new Error('The table "secrets" has no row for images: restore it from a backup.')
    return found.value
  }
  return () => {
    known ??= read().catch((error) => {
      known = undefined
      throw error
    })
    return known
  }
}
