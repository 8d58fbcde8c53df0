import { and, isNotNull, sql } from 'drizzle-orm'
import { REMOVED_IMAGE, type RemovedImageEntry, type RemovedImages } from '../../core/images/takedown.js'
import type { Database } from '../client.js'
import { inMonthOf } from '../months.js'
import { users as u } from '../schema/accounts.js'
import { allGenerations as g } from '../schema/generations.js'
import { allImages as i, takedowns as t } from '../schema/images.js'
import { operatorActions as a } from '../schema/operator.js'
import { columns, queryOnce, selectAs } from '../statement.js'

const ENTRY = selectAs({
  ...columns(i, 'slug', 'removedAt'),
  ...columns(t, 'attempts', 'dueAt'),
  reason: i.removedReason,
  owner: u.username,
  removedBy: sql`removal.actor`,
  micros: sql`(extract(epoch FROM ${i.removedAt}) * 1000000)::bigint`,
})

export const removedImageList = ({ orm, pool }: Database): RemovedImages => ({
  async list({ unfinished }, { limit, after }) {
    const [micros, slug] = after?.split(':') ?? []
    const where = and(
      isNotNull(i.removedAt),
      unfinished ? isNotNull(t.slug) : undefined,
      // Many have the same time: a purge removes a page in one statement.
      slug === undefined
        ? undefined
        : sql`(${i.removedAt}, ${i.slug}) < (timestamptz 'epoch' + ${micros}::float8 * interval '1 microsecond', ${slug})`,
    )
    const rows = await queryOnce<RemovedImageEntry & { readonly micros: number }>(
      pool,
      sql`
        SELECT ${ENTRY} FROM ${i}
          LEFT JOIN ${t} ON ${t.slug} = ${i.slug}
          JOIN ${g} ON ${g.id} = ${i.generationId} AND ${inMonthOf(g, i)} JOIN ${u} ON ${u.id} = ${g.userId}
          LEFT JOIN (SELECT DISTINCT ON (${a.target}) ${a.target}, ${a.actor} FROM ${a}
                      WHERE ${a.action} = ${REMOVED_IMAGE} ORDER BY ${a.target}, ${a.id}) removal
            ON removal.target = ${i.slug}
         WHERE ${where} ORDER BY ${i.removedAt} DESC, ${i.slug} DESC LIMIT ${limit + 1}`,
    )
    const last = rows.slice(0, limit).at(-1)
    const items = rows.slice(0, limit).map(({ micros: _, ...entry }) => entry)
    return { items, next: last && rows.length > limit ? `${last.micros}:${last.slug}` : undefined }
  },

  countUnfinished: () => orm.$count(t),
})
