import { eq, type SQL, sql } from 'drizzle-orm'
import { SLUG } from '../../core/images/ports.js'
import type { ImageRemovals, RemovedImage } from '../../core/images/takedown.js'
import { orBroughtBack } from '../brought-back.js'
import type { Database } from '../client.js'
import { inMonthOf } from '../months.js'
import { archived as a, archiveFiles as af } from '../schema/archive.js'
import { allGenerations as g } from '../schema/generations.js'
import { folders as f, allImages as i } from '../schema/images.js'
import { columns, param, setList, statement } from '../statement.js'

const REMOVE = statement<RemovedImage>('remove_image')`
  UPDATE ${i} SET ${setList(i, {
    removedReason: sql`CASE WHEN ${i.removedAt} IS NULL THEN ${param('reason')}::text ELSE ${i.removedReason} END`,
    removedAt: sql`coalesce(${i.removedAt}, now())`,
  })}
    FROM ${g}
   WHERE ${i.slug} = ${param('slug')} AND ${g.id} = ${i.generationId} AND ${inMonthOf(g, i)}
     AND (${param('accountId')}::uuid IS NULL OR ${g.userId} = ${param('accountId')}::uuid)
  RETURNING ${i.removedAt} AS at, ${i.removedReason} AS reason`

export const imageRemovals = (db: Database): ImageRemovals => ({
  remove: (slug, reason, accountId) =>
    orBroughtBack(db, slug, () => REMOVE.first(db.pool, { slug, reason, accountId }), accountId),
})

/** Small enough for one statement's time limit, however much a user has. */
const ENDED_PER_PAGE = 1000

// A page counts what is done already too: otherwise it might search millions of rows.
const ENDED = sql`ended AS MATERIALIZED (
  SELECT ${g.id}, ${g.seq}, ${g.slugs} FROM ${g}
   WHERE ${g.userId} = ${param('userId')} AND ${g.seq} > ${param('after')} AND ${g.status} IN ('succeeded', 'failed')
   ORDER BY ${g.seq} LIMIT ${ENDED_PER_PAGE})`

/** As an array: otherwise Postgres may read all that there is. */
const ENDED_IDS = sql`ANY (ARRAY(SELECT id FROM ended))`

const endedStatement = (name: string, change: SQL) =>
  statement<{ done: number; last: number | null }>(name)`
    WITH ${ENDED}, changed AS (${change})
    SELECT (SELECT count(*) FROM changed) AS done, (SELECT max(seq) FROM ended) AS last`

const WIPE_PROMPTS = endedStatement(
  'wipe_prompts',
  sql`UPDATE ${g} SET ${setList(g, { prompt: '', negativePrompt: '', webhookUrl: null, requestId: null, traceparent: null })}
     WHERE ${g.id} = ${ENDED_IDS} AND (${g.prompt} <> '' OR ${g.negativePrompt} <> '') RETURNING ${g.id}`,
)

const REMOVE_ALL = endedStatement(
  'remove_images_of_user',
  sql`UPDATE ${i} SET ${setList(i, { removedAt: sql`now()`, removedReason: param('reason') })}
     WHERE ${i.generationId} = ${ENDED_IDS} AND ${i.removedAt} IS NULL RETURNING ${i.slug}`,
)

const SLUGS = statement<{ seq: number; slugs: string[] }>('slugs_of_user')`
  WITH ${ENDED} SELECT seq, slugs FROM ended ORDER BY seq`

/** In files of the archive that were given up: IDs of generations, and slugs. */
const LOST = statement<{ name: string }>('lost_names_of_user')`
  SELECT ${a.name} FROM ${af} JOIN ${a} ON ${a.fileId} = ${af.id} WHERE ${af.userId} = ${param('userId')}::uuid AND ${af.status} = 'lost'`

export const operatorImageStore = ({ orm, pool }: Database) => {
  /** Changes all pages, in the queue's order; resolves to how many rows were changed. */
  const inPages = async (page: typeof REMOVE_ALL, values: object): Promise<number> => {
    for (let after = 0, total = 0; ; ) {
      const { done = 0, last = null } = (await page.first(pool, { ...values, after })) ?? {}
      total += done
      if (last === null) return total
      after = last
    }
  }

  return {
    removeAllOf: (userId: string, reason: string): Promise<number> => inPages(REMOVE_ALL, { userId, reason }),

    async removeFoldersOf(userId: string): Promise<void> {
      // One at a time: together they may hold millions of images, more than a statement's time limit allows.
      for (const { id } of await orm.select(columns(f, 'id')).from(f).where(eq(f.userId, userId)))
        await orm.delete(f).where(eq(f.id, id))
    },

    /** Of ended generations; resolves to how many these were. */
    wipePromptsOf: (userId: string): Promise<number> => inPages(WIPE_PROMPTS, { userId }),

    /** All slugs under which the user may have files, in pages; failed generations may have left some too. */
    async *slugsOf(userId: string): AsyncGenerator<string[]> {
      for (let after = 0; ; ) {
        const rows = await SLUGS.rows(pool, { userId, after })
        const last = rows.at(-1)
        if (!last) break
        after = last.seq
        yield rows.flatMap(({ slugs }) => slugs)
      }
      const lost = (await LOST.rows(pool, { userId })).map(({ name }) => name).filter((it) => SLUG.test(it))
      if (lost.length > 0) yield lost
    },
  }
}
