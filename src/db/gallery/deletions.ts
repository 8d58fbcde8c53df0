import { sql } from 'drizzle-orm'
import type { ImageDeletions } from '../../core/gallery/deletion.js'
import { changedAlsoArchived, sum } from '../brought-back.js'
import type { Database } from '../client.js'
import { inMonthOf } from '../months.js'
import { allGenerations as g } from '../schema/generations.js'
import { allImages as i } from '../schema/images.js'
import { param, setList, statement } from '../statement.js'

/** Looked up for each image: a join may begin with all images that the account has. */
const OWN = sql`(SELECT ${g.userId} FROM ${g} WHERE ${g.id} = ${i.generationId} AND ${inMonthOf(g, i)}) = ${param('accountId')}::uuid`
/** As the index `images_delete_at` has it: only some are in it at any time. */
const PENDING = sql`${i.deleteAt} IS NOT NULL AND ${i.removedAt} IS NULL AND ${i.deleteAt} > now()`

const BEGIN = statement('begin_deletion')`
  UPDATE ${i} SET ${setList(i, { deleteAt: sql`now() + ${param('seconds')}::integer * interval '1 second'` })}
   WHERE ${i.slug} = ANY (${param('slugs')}::text[]) AND ${OWN} AND ${i.removedAt} IS NULL AND ${i.deleteAt} IS NULL`

const UNDOABLE = statement<{ count: number }>('undoable_deletions')`
  SELECT count(*) FROM ${i} WHERE ${PENDING} AND ${OWN}`

const UNDO = statement('undo_deletion')`
  UPDATE ${i} SET ${setList(i, { deleteAt: sql`NULL` })} WHERE ${PENDING} AND ${OWN}`

export const imageDeletions = (db: Database): ImageDeletions => ({
  begin: (accountId, slugs, seconds) =>
    changedAlsoArchived(db, slugs, () => BEGIN.count(db.pool, { accountId, slugs, seconds }), sum, accountId),
  undoable: async (accountId) => (await UNDOABLE.first(db.pool, { accountId }))?.count ?? 0,
  undo: (accountId) => UNDO.count(db.pool, { accountId }),
})
