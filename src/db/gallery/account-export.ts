/** Reads the export of an account, page by page. */
import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { AccountExports, ExportedImage } from '../../core/gallery/account-export.js'
import { retryFor } from '../../lib/retry.js'
import { bringBackWhatCanBe } from '../brought-back.js'
import type { Database } from '../client.js'
import { inMonthOf } from '../months.js'
import type { ReadDatabase } from '../read-replica.js'
import { allGenerations as g } from '../schema/generations.js'
import { allImages as i } from '../schema/images.js'
import { leases } from '../schema/workers.js'
import { param, queryOnce, statement } from '../statement.js'
import { EXPORTED, isBehind, PAGE, type Page, placeOf, selected } from './exported.js'

/** Longer than a page takes, and than its tries do; whoever is still at it renews it. */
const HOLD_SECONDS = 60
/** How long Postgres may be away. */
const PATIENCE_MS = 30_000

const HOLD = statement('hold_account_export')`
  INSERT INTO ${leases} (name, holder, until)
  VALUES ('export:' || ${param('accountId')}, ${param('holder')}, now() + make_interval(secs => ${HOLD_SECONDS}))
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until WHERE ${leases.until} < now()`

const RENEW = statement('renew_account_export')`
  UPDATE ${leases} SET until = now() + make_interval(secs => ${HOLD_SECONDS})
   WHERE name = 'export:' || ${param('accountId')} AND holder = ${param('holder')}`

/** A generation without images has a row, too: the next page begins behind it. */
type ImageRow = Pick<Page, 'place'> & (ExportedImage | { readonly slug: null; readonly createdAt: null })

/** Generations first: a page of both tables at once would read all that come before it. */
const imagePage = (accountId: string, after: readonly string[] | undefined) => {
  const order = [g.createdAt, g.seq]
  return sql`
    SELECT ${i.slug}, ${i.createdAt} AS "createdAt", ${placeOf(order)} AS place
      FROM (SELECT ${selected([g.id, g.month, ...order])} FROM ${g}
             WHERE ${and(eq(g.userId, sql`${accountId}::uuid`), isBehind(order, after))}
             ORDER BY ${selected(order)} LIMIT ${PAGE}) ${g}
      LEFT JOIN LATERAL (
        SELECT ${selected([i.slug, i.idx, i.createdAt])} FROM ${i}
         WHERE ${i.generationId} = ${g.id} AND ${inMonthOf(i, g)} AND ${i.removedAt} IS NULL ORDER BY ${i.idx} OFFSET 0) ${i} ON true
     ORDER BY ${selected([...order, i.idx])}`
}

export function accountExports(db: Database, reads: ReadDatabase = db): AccountExports {
  async function* pages<Row extends Pick<Page, 'place'>>(
    pageAfter: (after: readonly string[] | undefined) => SQL,
    limit = PAGE,
  ) {
    for (let after: readonly string[] | undefined; ; ) {
      const rows: Row[] = await retryFor(() => queryOnce<Row>(reads.pool, pageAfter(after)), PATIENCE_MS)
      yield rows
      after = rows.at(-1)?.place
      if (!after || rows.length < limit) return
    }
  }

  return {
    async *rows(accountId, file) {
      await bringBackWhatCanBe(db, accountId)
      const { page, limit } = EXPORTED[file]
      for await (const rows of pages<Page>((after) => page(accountId, after), limit))
        yield rows.flatMap(({ row }) => row ?? [])
    },

    async *images(accountId) {
      await bringBackWhatCanBe(db, accountId)
      for await (const page of pages<ImageRow>((after) => imagePage(accountId, after)))
        for (const { slug, createdAt } of page) if (slug !== null) yield { slug, createdAt }
    },

    unreadable: (accountId) => bringBackWhatCanBe(db, accountId),

    hold: async (accountId, holder) => (await HOLD.count(db.pool, { accountId, holder })) === 1,

    renew: async (accountId, holder) => (await RENEW.count(db.pool, { accountId, holder })) === 1,

    async release(accountId, holder) {
      await db.orm.delete(leases).where(and(eq(leases.name, `export:${accountId}`), eq(leases.holder, holder)))
    },
  }
}
