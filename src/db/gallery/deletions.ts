import { sql } from 'drizzle-orm'
import type { ImageDeletions } from '../../core/gallery/deletion.js'
import type { Database } from '../client.js'
import { generations as g } from '../schema/generations.js'
import { images as i } from '../schema/images.js'
import { param, setList, statement } from '../statement.js'

const OWN = sql`${g.id} = ${i.generationId} AND ${g.userId} = ${param('accountId')}::uuid`
/** As the index `images_delete_at` has it: only some are in it at any time. */
const PENDING = sql`${i.deleteAt} IS NOT NULL AND ${i.removedAt} IS NULL AND ${i.deleteAt} > now()`

const BEGIN = statement('begin_deletion')`
  UPDATE ${i} SET ${setList(i, { deleteAt: sql`now() + ${param('seconds')}::integer * interval '1 second'` })} FROM ${g}
   WHERE ${i.slug} = ANY (${param('slugs')}::text[]) AND ${OWN} AND ${i.removedAt} IS NULL AND ${i.deleteAt} IS NULL`

const UNDOABLE = statement<{ count: number }>('undoable_deletions')`
  SELECT count(*) FROM ${i} JOIN ${g} ON ${OWN} WHERE ${PENDING}`

const UNDO = statement('undo_deletion')`
  UPDATE ${i} SET ${setList(i, { deleteAt: sql`NULL` })} FROM ${g} WHERE ${OWN} AND ${PENDING}`

export const imageDeletions = ({ pool }: Database): ImageDeletions => ({
  begin: (accountId, slugs, seconds) => BEGIN.count(pool, { accountId, slugs, seconds }),
  undoable: async (accountId) => (await UNDOABLE.first(pool, { accountId }))?.count ?? 0,
  undo: (accountId) => UNDO.count(pool, { accountId }),
})
