/** An account's images, newest first. */
import { and, eq, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { GalleryStore, Neighbours, OwnImage, Shape } from '../../core/gallery/gallery.js'
import { pageOf } from '../../lib/page.js'
import { alsoArchived, type NextPlace, orBroughtBack, timesOf } from '../brought-back.js'
import type { Database } from '../client.js'
import { type HistoryPosition, MADE_FROM, matching, microseconds, ORDER, placeOf } from '../generations/history.js'
import { inMonthOf, isNewerThanMoved, newestOf } from '../months.js'
import type { ReadDatabase } from '../read-replica.js'
import { apiKeys as k } from '../schema/accounts.js'
import { allGenerations as g } from '../schema/generations.js'
import { folders as f, folderImages as fi, allImages as i } from '../schema/images.js'
import { columns, param, queryOnce, selectAs, statement } from '../statement.js'
import { isFavouriteOf, ownFolder } from './folders.js'

/** Website or API, by the account's own key of the website, which Postgres looks up once. */
const madeOnOf = (accountId: SQLWrapper) => sql`
  CASE ${g.apiKeyId} WHEN (SELECT ${k.id} FROM ${k} WHERE ${k.userId} = ${accountId} AND ${k.kind} = 'website')
    THEN 'website' ELSE 'api' END`

/** Neither removed nor deleted. */
const SHOWN = sql`${i.removedAt} IS NULL AND ${i.deleteAt} IS NULL`

const imageOf = (accountId: SQL) => ({
  ...MADE_FROM,
  ...columns(i, 'slug', 'generationId', 'seed', 'width', 'height', 'bytes', 'sha256', 'madeWith', 'createdAt'),
  ...columns(i, 'hasThumbnail', 'isPrivate'),
  ...{ askedWidth: g.width, askedHeight: g.height },
  madeOn: madeOnOf(accountId),
  isFavourite: isFavouriteOf(accountId),
})

const FIND_IMAGE = statement<OwnImage>('find_own_image')`
  SELECT ${selectAs(imageOf(sql`${param('accountId')}::uuid`))} FROM ${i} JOIN ${g} ON ${g.id} = ${i.generationId} AND ${inMonthOf(g, i)}
   WHERE ${i.slug} = ${param('slug')} AND ${g.userId} = ${param('accountId')} AND ${SHOWN}`

const THERE = sql`(${g.createdAt}, ${g.seq})`
const HERE = sql`(here.created_at, here.seq)`

/** With their generations' submits, in microseconds since 1970. */
interface Surroundings extends Neighbours {
  readonly newerAt: number | null
  readonly at: number
  readonly olderAt: number | null
}

/** Planned anew each time, for an account of this size: most have few images, some have very many. */
function neighboursOf(accountId: string, slug: string): SQL {
  const own = sql`${g.userId} = ${accountId}::uuid`
  /** The first of the account's images on one side of `here`. */
  const first = (side: SQL, order: SQL) => sql`(
    SELECT ${i.slug}, ${microseconds(g.createdAt)} AS at FROM ${g} JOIN ${i} ON ${i.generationId} = ${g.id} AND ${inMonthOf(i, g)} AND ${SHOWN}
     WHERE ${own} AND ${g.status} = 'succeeded' AND ${side} ORDER BY ${order} LIMIT 1)`
  const newer = sql`${THERE} >= ${HERE} AND (${THERE} > ${HERE} OR ${i.idx} < here.idx)`
  const older = sql`${THERE} <= ${HERE} AND (${THERE} < ${HERE} OR ${i.idx} > here.idx)`
  return sql`
    SELECT newer.slug AS newer, older.slug AS older, newer.at AS "newerAt", ${microseconds(sql`here.created_at`)} AS at, older.at AS "olderAt"
      FROM (SELECT ${g.createdAt}, ${g.seq}, ${i.idx} FROM ${i} JOIN ${g} ON ${g.id} = ${i.generationId} AND ${inMonthOf(g, i)}
             WHERE ${i.slug} = ${slug} AND ${own} AND ${i.removedAt} IS NULL) AS here
      LEFT JOIN LATERAL ${first(newer, sql`${g.createdAt}, ${g.seq}, ${i.idx} DESC`)} newer ON true
      LEFT JOIN LATERAL ${first(older, sql`${ORDER}, ${i.idx}`)} older ON true`
}

/** A search looks at so many generations at a time, some milliseconds of work; its next page goes on from there. */
const SEARCHED = 3000
/** Of an image in its generation. */
const MAX_INDEX = 3

/** Text that LIKE takes as it is. */
const literally = (text: string) => text.replace(/[\\%_]/g, '\\$&')

const SHAPES: Readonly<Record<Shape, SQL>> = {
  portrait: sql`${i.width} < ${i.height}`,
  landscape: sql`${i.width} > ${i.height}`,
  square: sql`${i.width} = ${i.height}`,
}

export const galleryStore = (db: Database, reads: ReadDatabase = db): GalleryStore => ({
  async images(accountId, { folder, shape, prompt, madeOn, ...filter }, { limit, after }, order = 'newest') {
    const account = sql`${accountId}::uuid`
    const { since, until, modelVersionId } = filter
    // The table whose index has the order.
    const at = folder === undefined ? g : fi
    const [behind, direction] = order === 'newest' ? [sql`<`, sql`DESC`] : [sql`>`, sql`ASC`]
    const there = sql`(${at.createdAt}, ${at.seq})`
    const inOrder = sql`${at.createdAt} ${direction}, ${at.seq} ${direction}`
    const own = (isLive: boolean) =>
      and(
        isLive ? isNewerThanMoved(g) : undefined,
        folder === undefined
          ? matching(accountId, { ...filter, status: 'succeeded' })
          : sql`${fi.folderId} = (SELECT ${f.id} FROM ${f} WHERE ${ownFolder(accountId, folder)})`,
        folder === undefined || !since ? undefined : sql`${fi.createdAt} >= ${since}`,
        folder === undefined || !until ? undefined : sql`${fi.createdAt} < ${until}`,
        after && sql`${there} ${behind}= ${placeOf(after)}`,
      )
    const sought = and(
      prompt === undefined ? undefined : sql`lower(${g.prompt}) LIKE lower(${`%${literally(prompt)}%`})`,
      madeOn && sql`${madeOnOf(account)} = ${madeOn}`,
      shape && SHAPES[shape],
      folder === undefined || modelVersionId === undefined ? undefined : eq(g.modelVersionId, modelVersionId),
    )
    const where = (isLive: boolean) =>
      and(sought ?? own(isLive), after && sql`(${there} ${behind} ${placeOf(after)} OR ${i.idx} > ${after[2]}::bigint)`)
    // Under the table's own name: what is selected and sought reads its columns either way.
    const searched = (isLive: boolean) =>
      sql`(SELECT * FROM ${at} WHERE ${own(isLive)} ORDER BY ${inOrder} LIMIT ${SEARCHED}) AS ${at}`
    const from = (isLive: boolean) => sql`${sought ? searched(isLive) : at}`
    const joined = (isLive: boolean) =>
      folder === undefined
        ? sql`${from(isLive)} JOIN ${i} ON ${i.generationId} = ${g.id} AND ${inMonthOf(i, g, isLive)} AND ${SHOWN}`
        : sql`${from(isLive)} JOIN ${i} ON ${i.slug} = ${fi.slug} AND ${SHOWN} JOIN ${g} ON ${g.id} = ${i.generationId} AND ${inMonthOf(g, i)}`
    const place = { at: microseconds(at.createdAt), seq: at.seq }
    const read = (isLive: boolean) =>
      queryOnce<OwnImage & HistoryPosition & { readonly idx: number }>(
        reads.pool,
        sql`
          SELECT ${selectAs({ ...place, ...imageOf(account), idx: i.idx })} FROM ${joined(isLive)}
           WHERE ${where(isLive)} ORDER BY ${inOrder}, ${i.idx} LIMIT ${limit + 1}`,
      )
    // Under the table's own name, too: the place is computed of that row only.
    const last = sql`
      SELECT ${at.createdAt}, ${at.seq} FROM ${at} WHERE ${own(false)} ORDER BY ${inOrder} OFFSET ${SEARCHED - 1} LIMIT 1`
    /** Where a search stops that does not fill its page; undefined: at the end of the list. */
    const endOfSearch = async () =>
      sought &&
      (await queryOnce<HistoryPosition>(reads.pool, sql`SELECT ${selectAs(place)} FROM (${last}) AS ${at}`))[0]
    const span = async (rows: readonly HistoryPosition[]) =>
      timesOf(filter, after?.[0], (rows[limit] ?? (await endOfSearch()))?.at, order)
    // What is in a folder is never archived.
    let next: NextPlace | undefined
    const readAll = async () => {
      if (folder !== undefined) return read(false)
      const found = await alsoArchived(db, accountId, () => read(false), span, order)
      next = found.next
      return found.rows
    }
    const isNewestFirst = folder === undefined && order === 'newest'
    const rows = await (isNewestFirst
      ? newestOf(reads.pool, limit + 1, (isLive) => (isLive ? read(true) : readAll()))
      : readAll())
    const toImage = ({ at: _at, seq: _seq, idx: _idx, ...image }: (typeof rows)[number]) => image
    const page = pageOf(rows, limit, toImage, ({ at, seq, idx }) => [at, seq, idx])
    if (!page.next && next) return { items: page.items, next: [...next, MAX_INDEX] }
    if (page.next || !sought) return page
    const end = await endOfSearch()
    return { items: page.items, next: end && [end.at, end.seq, MAX_INDEX] }
  },

  image: (accountId, slug) => orBroughtBack(db, slug, () => FIND_IMAGE.first(db.pool, { slug, accountId }), accountId),

  async neighbours(accountId, slug) {
    const find = async () => (await queryOnce<Surroundings>(db.pool, neighboursOf(accountId, slug)))[0]
    for (;;) {
      const found = await orBroughtBack(db, slug, find, accountId)
      if (!found) return undefined
      const { newer, newerAt, at, olderAt, older } = found
      // What is between them, or where Postgres ends.
      const isMissing =
        (await db.archive?.bringBackOneOf(accountId, timesOf({}, at, olderAt ?? undefined), 'newest')) ||
        (await db.archive?.bringBackOneOf(accountId, timesOf({}, newerAt ?? undefined, at), 'oldest'))
      if (!isMissing) return { newer, older }
    }
  },
})
