import { sql } from 'drizzle-orm'
import type { HiddenImageRows } from '../../core/images/hidden-images.js'
import { batchedInTurn } from '../../lib/batch.js'
import type { Database } from '../client.js'
import { liveFirst } from '../months.js'
import { archived as a } from '../schema/archive.js'
import { allImages as i, imageMoves as m } from '../schema/images.js'
import { eachOf, statement } from '../statement.js'

const HIDDEN = liveFirst<{ isHidden: boolean }, 'slug'>(
  'hidden_images',
  { slug: 'text' },
  ({ i }) =>
    sql`SELECT ${i.isPrivate} OR ${i.removedAt} IS NOT NULL AS "isHidden" FROM ${i} WHERE ${i.slug} = item.slug`,
)

/** Again in the tables, at the same moment: it may have been brought back meanwhile. */
const ARCHIVED_HIDDEN = eachOf<{ isHidden: boolean }, 'slug'>(
  'hidden_archived_images',
  { slug: 'text' },
  sql`SELECT ${a.isHidden} AS "isHidden" FROM ${a} WHERE ${a.name} = item.slug
       UNION ALL SELECT ${i.isPrivate} OR ${i.removedAt} IS NOT NULL FROM ${i} WHERE ${i.slug} = item.slug`,
)

/** More than owners change before an outage. */
const AT_MOST = 10_000

// Image by image: few are moved, and a join might read all of them.
const LEAVING = statement<{ slug: string }>('leaving_images')`
  SELECT ${m.slug} AS slug FROM ${m} WHERE (SELECT ${i.isPrivate} FROM ${i} WHERE ${i.slug} = ${m.slug}) LIMIT ${AT_MOST}`

export const hiddenImageRows = ({ pool }: Database): HiddenImageRows => ({
  // In turn: however many images are asked for while Postgres is slow, they hold one connection.
  isHidden: batchedInTurn(
    () => '',
    async (slugs: readonly string[]) => {
      const asked = slugs.map((slug) => ({ slug }))
      const rows = await HIDDEN(pool, asked)
      const unknown = asked.filter((_, n) => rows[n] === undefined)
      const others = (unknown.length > 0 ? await ARCHIVED_HIDDEN(pool, unknown) : []).values()
      return rows.map((row) => (row ?? others.next().value)?.isHidden ?? false)
    },
  ),
  leaving: async () => (await LEAVING.rows(pool)).map(({ slug }) => slug),
})
