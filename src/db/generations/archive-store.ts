/** How rows go to files of the archive; `migrations/0067_archive.sql` has the functions that write and delete. */
import { randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import type { AccountPlace, ArchiveFiles, ArchiveStore } from '../../core/generations/archive-months.js'
import type { RetentionDays } from '../../core/generations/retention.js'
import { newKey, seal } from '../../lib/sealed.js'
import type { Database } from '../client.js'
import { plans as p, subscriptions as s } from '../schema/accounts.js'
import { archiveFiles as f } from '../schema/archive.js'
import { allGenerations as g, months as m } from '../schema/generations.js'
import { allImages as i } from '../schema/images.js'
import { retention as t } from '../schema/retention.js'
import { isBusy } from '../sql-state.js'
import { FIRST_UUID, itemsOf, NOT_SYNCED, param, statement } from '../statement.js'
import { daysKept } from './retention.js'

/** Looked at by one statement, and archived by one: each takes some tens of milliseconds. */
const ACCOUNTS_PER_PAGE = 50
const GENERATIONS_PER_STEP = 250
/** To bring one back takes as long as to bring back all. */
const GENERATIONS_PER_FILE = 250
const FILES_AT_ONCE = 4
/** No file takes that long to write: whoever began it was killed. */
const ABANDONED_AFTER = sql`interval '1 hour'`

const MONTH = sql`${param('month')}::date`

const MONTHS = statement<{ month: string }>('months_to_archive')`
  SELECT ${m.month}::text AS month FROM ${m}
   WHERE ${m.month} < (date_trunc('month', now() AT TIME ZONE 'UTC') - make_interval(months => ${param('archiveMonths')}::integer))::date
     AND NOT 'generations' = ANY (tables_missing(to_char(${m.month}, '_YYYY_MM')))
   ORDER BY ${m.month}`

// From one account to the next, along the index: otherwise all rows of the month would be read.
const nextAccount = (after: ReturnType<typeof sql>) => sql`(
  SELECT ${g.userId} FROM ${g} WHERE ${g.month} = ${MONTH} AND ${g.userId} > ${after} ORDER BY ${g.userId} LIMIT 1)`
const ACCOUNTS = statement<{ id: string }>('accounts_to_archive')`
  WITH RECURSIVE account AS (
    SELECT ${nextAccount(sql`${param('after')}::uuid`)} AS id, 1 AS n
     UNION ALL SELECT ${nextAccount(sql`account.id`)}, n + 1 FROM account WHERE id IS NOT NULL AND n < ${ACCOUNTS_PER_PAGE}
  ) SELECT id FROM account WHERE id IS NOT NULL ORDER BY id`

/** What has an end comes to it in Postgres first. */
const isPastRetention = (what: 'prompts' | 'images') => {
  const { days, at, seq } = daysKept(what)
  return sql`coalesce(${days} IS NULL OR (next.created_at, next.seq) <= (${at}, ${seq}), false)`
}

interface Batch {
  readonly accountId: string
  /** So many were looked at; these may go. */
  readonly looked: number
  readonly ids: string[]
  readonly content: string
  readonly digest: string
  /** The last that was looked at. */
  readonly at: string
  readonly seq: number
}
// From one generation to the next, along the index: otherwise all that an account has would be sorted where Postgres believes that
// to be little. And no more is looked at however many are in use. OFFSET 0: else Postgres may look at all images of the month first.
const NEXT = statement<Batch>('next_to_archive')`
  SELECT *, md5(content) AS digest FROM (
    SELECT "accountId", looked, ids, at[looked]::text AS at, seq[looked] AS seq, archive_content(ids, ${MONTH}) AS content FROM (
      SELECT "accountId", count(*) AS looked, array_agg(created_at ORDER BY n) AS at, array_agg(seq ORDER BY n) AS seq,
             coalesce(array_agg(id ORDER BY n) FILTER (WHERE is_free), '{}') AS ids
        FROM (
        SELECT item.id AS "accountId", next.n, next.id, next.created_at, next.seq,
               ${isPastRetention('prompts')} AND ${isPastRetention('images')}
               AND NOT EXISTS (SELECT FROM ${i} WHERE ${i.generationId} = next.id AND ${i.month} = ${MONTH}
                                  AND (${i.deleteAt} IS NOT NULL AND ${i.removedAt} IS NULL OR image_is_in_use(${i.slug})) OFFSET 0) AS is_free
          FROM ${itemsOf({ id: 'uuid', at: 'timestamptz', seq: 'bigint' })}
          LEFT JOIN ${s} ON ${s.userId} = item.id LEFT JOIN ${p} ON ${p.name} = ${s.plan} LEFT JOIN ${t} ON ${t.userId} = item.id
         CROSS JOIN LATERAL (
           WITH RECURSIVE step AS (
             SELECT 0 AS n, NULL AS id, coalesce(item.at, '-infinity') AS created_at, coalesce(item.seq, 0) AS seq
              UNION ALL
             SELECT step.n + 1, following.* FROM step CROSS JOIN LATERAL (
               SELECT ${g.id}, ${g.createdAt}, ${g.seq} FROM ${g}
                WHERE ${g.month} = ${MONTH} AND ${g.userId} = item.id AND (${g.createdAt}, ${g.seq}) > (step.created_at, step.seq)
                ORDER BY ${g.createdAt}, ${g.seq} LIMIT 1) following
              WHERE step.n < ${GENERATIONS_PER_FILE}
           ) SELECT * FROM step WHERE n > 0) next
         WHERE NOT is_kept_from_archive(item.id)
         LIMIT ${GENERATIONS_PER_STEP}) generation
       GROUP BY "accountId") account) content`

const BEGIN = statement('begin_archive_files')`
  INSERT INTO ${f} (id, user_id, month, key)
  SELECT id, user_id, ${MONTH}, decode(key, 'base64') FROM ${itemsOf({ id: 'uuid', user_id: 'uuid', key: 'text' })}`

// If its commit is lost in a crash, the rows are there as before, and nobody needs the file.
const ARCHIVE = statement<{ id: string; done: boolean }>('archive_generations')`
  SELECT item.id, archive_generations(item.id, item.ids, ${MONTH}, item.digest) AS done
    FROM ${itemsOf({ id: 'uuid', ids: 'text[]', digest: 'text' })}, ${NOT_SYNCED}`

const GIVE_UP = statement('give_up_archive_files')`
  UPDATE ${f} SET status = 'unused', key = NULL, changed_at = now() WHERE ${f.id} = ANY (${param('ids')}::uuid[]) AND ${f.status} = 'new'`

const DROP_MONTH = statement<{ dropped: boolean }>(
  'drop_archived_month',
)`SELECT drop_archived_month(${MONTH}) AS dropped`

const ABANDON = statement('abandon_archive_files')`
  UPDATE ${f} SET status = 'unused', key = NULL, changed_at = now()
   WHERE ${f.status} = 'new' AND ${f.changedAt} < now() - ${ABANDONED_AFTER}`
const UNUSED = statement<{ id: string }>(
  'unused_archive_files',
)`SELECT ${f.id} FROM ${f} WHERE ${f.status} = 'unused' AND ${f.id} > ${param('after')}::uuid ORDER BY ${f.id} LIMIT 100`
const FORGET = statement(
  'forget_archive_files',
)`DELETE FROM ${f} WHERE ${f.id} = ANY (${param('ids')}::uuid[]) AND ${f.status} = 'unused'`

async function eachOfSome<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const waiting = items.values()
  const workOff = async () => {
    for (const item of waiting) await work(item)
  }
  await Promise.all(Array.from({ length: FILES_AT_ONCE }, workOff))
}

/** @param kept how long prompts and images are kept, in days, unless the account's plan says otherwise */
export function archiveStore({ pool }: Pick<Database, 'pool'>, files: ArchiveFiles, kept: RetentionDays): ArchiveStore {
  /** Those of these files whose rows could be deleted. */
  async function archive(month: string, written: readonly Written[]): Promise<Set<string>> {
    const rows = await ARCHIVE.rows(pool, { month, items: JSON.stringify(written) }).catch((error) => {
      if (isBusy(error)) return undefined
      throw error
    })
    if (rows) return new Set(rows.filter((it) => it.done).map((it) => it.id))
    if (written.length === 1) return new Set()
    const done = new Set<string>()
    for (const one of written) for (const id of await archive(month, [one])) done.add(id)
    return done
  }

  return {
    months: async (archiveMonths) => (await MONTHS.rows(pool, { archiveMonths })).map((it) => it.month),
    accounts: async (month, after = FIRST_UUID) => (await ACCOUNTS.rows(pool, { month, after })).map((it) => it.id),

    async step(month, accounts) {
      const items = accounts.map(({ accountId, after }) => ({ id: accountId, ...after }))
      const looked = await NEXT.rows(pool, { month, items: JSON.stringify(items), ...kept })
      const more = moreOf(accounts, looked)
      const batches = looked.filter(({ ids }) => ids.length > 0)
      if (batches.length === 0) return { generations: 0, left: 0, more }
      const written = batches.map(({ accountId, ids, content, digest }) => {
        const key = newKey()
        return {
          id: randomUUID(),
          user_id: accountId,
          key: key.toString('base64'),
          ids,
          digest,
          sealed: () => seal(content, key),
        }
      })
      // First the rows, so that each file that is ever written is known.
      await BEGIN.run(pool, { month, items: JSON.stringify(written) })
      const put: Written[] = []
      const faults: unknown[] = []
      await eachOfSome(written, async (file) =>
        files.put(file.id, await file.sealed()).then(
          () => put.push(file),
          (error) => faults.push(error),
        ),
      )
      // A store that takes none is away. One that does not take a single file, as a too large one, leaves only that.
      if (put.length === 0) throw faults[0]
      const done = await archive(month, put)
      const failed = written.filter(({ id }) => !done.has(id))
      if (failed.length > 0) await GIVE_UP.run(pool, { ids: failed.map(({ id }) => id) })
      const total = (of: readonly Written[]) => of.reduce((sum, { ids }) => sum + ids.length, 0)
      return { generations: total(written) - total(failed), left: total(failed), more }
    },

    dropMonth: async (month) =>
      (
        await DROP_MONTH.first(pool, { month }).catch((error) => {
          if (isBusy(error)) return undefined
          throw error
        })
      )?.dropped ?? false,

    async removeUnused() {
      await ABANDON.run(pool)
      const faults: unknown[] = []
      for (let after = FIRST_UUID; ; ) {
        const ids = (await UNUSED.rows(pool, { after })).map(({ id }) => id)
        const last = ids.at(-1)
        if (!last) break
        after = last
        const removed: string[] = []
        await eachOfSome(ids, (id) =>
          files.remove(id).then(
            () => removed.push(id),
            (error) => faults.push(error),
          ),
        )
        await FORGET.run(pool, { ids: removed })
        if (removed.length === 0) break
      }
      if (faults.length > 0) throw faults[0]
    },
  }
}

interface Written {
  readonly id: string
  readonly user_id: string
  readonly key: string
  readonly ids: readonly string[]
  readonly digest: string
  readonly sealed: () => Promise<Buffer>
}

/** What could not be archived waits for the next pass. */
function moreOf(accounts: readonly AccountPlace[], looked: readonly Batch[]): AccountPlace[] {
  const isFull = looked.reduce((sum, it) => sum + it.looked, 0) >= GENERATIONS_PER_STEP
  const reached = Math.max(...looked.map((it) => accounts.findIndex(({ accountId }) => accountId === it.accountId)))
  return accounts.flatMap((account, n) => {
    if (n > reached) return isFull ? [account] : []
    const own = looked.find((it) => it.accountId === account.accountId)
    const hasMore = own && (own.looked >= GENERATIONS_PER_FILE || (isFull && n === reached))
    return hasMore ? [{ accountId: account.accountId, after: { at: own.at, seq: own.seq } }] : []
  })
}

interface ArchivedMonth {
  /** Like 2025-09. */
  readonly month: string
  readonly accounts: number
  readonly generations: number
  readonly files: number
}

const LIST = statement<ArchivedMonth>('archived_months')`
  SELECT to_char(${f.month}, 'YYYY-MM') AS month, count(DISTINCT ${f.userId}) AS accounts, sum(${f.generations}) AS generations, count(*) AS files
    FROM ${f} WHERE ${f.status} = 'stored' GROUP BY ${f.month} ORDER BY ${f.month}`

/** What is in the archive, the oldest month first. */
export const archiveList = ({ pool }: Pick<Database, 'pool'>): Promise<ArchivedMonth[]> => LIST.rows(pool)
