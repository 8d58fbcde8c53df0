/** The archive: generations long past, in files of the image store. `migrations/0067_archive.sql` explains the tables and fills them. */
import { sql } from 'drizzle-orm'
import { boolean, check, date, index, integer, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { userId } from './accounts.js'
import { bytea, time } from './columns.js'

/** Each has generations of one account and one month. */
export const archiveFiles = pgTable(
  'archive_files',
  {
    id: uuid('id').primaryKey(),
    userId: userId().notNull(),
    month: date('month').notNull(),
    /** Null: nobody is to read it any more. */
    key: bytea('key'),
    status: text('status').$type<'new' | 'stored' | 'unused' | 'lost'>().notNull().default('new'),
    generations: integer('generations').notNull().default(0),
    /** Of its generations' submits. */
    oldest: time('oldest'),
    newest: time('newest'),
    changedAt: time('changed_at').notNull().defaultNow(),
  },
  (t) => [
    check('archive_files_key_check', sql`length(${t.key}) = 32`),
    check('archive_files_status_check', sql`${t.status} IN ('new', 'stored', 'unused', 'lost')`),
    check('archive_files_check', sql`${t.status} IN ('unused', 'lost') OR ${t.key} IS NOT NULL`),
    index('archive_files_of_account').on(t.userId, t.newest).where(sql`${t.status} = 'stored'`),
    index('archive_files_to_remove').on(t.changedAt).where(sql`${t.status} <> 'stored'`),
  ],
)

/** The IDs of generations and the slugs of images that are in files. */
export const archived = pgTable('archived', {
  name: text('name').primaryKey(),
  fileId: uuid('file_id').notNull(),
  /** An image that is private or removed. */
  isHidden: boolean('is_hidden').notNull(),
})

/** The accounts that something was brought back for, and when last. */
export const archiveUses = pgTable('archive_uses', {
  userId: userId().primaryKey(),
  at: time('at').notNull().defaultNow(),
})
