/** The images, the folders in which their owners sort them, what visitors report, and which files of removed ones may still be there. */
import { sql } from 'drizzle-orm'
import {
  boolean,
  check,
  foreignKey,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import type { MadeWith } from '../../core/generations/run/backend.js'
import type { ReportReason } from '../../core/images/reports.js'
import { userId } from './accounts.js'
import { bytea, int8, month, time } from './columns.js'
import { generations } from './generations.js'

const imageColumns = () => ({
  slug: text('slug').primaryKey(),
  generationId: text('generation_id').notNull(),
  idx: integer('idx').notNull(),
  seed: int8('seed').notNull(),
  width: integer('width').notNull(),
  height: integer('height').notNull(),
  bytes: int8('bytes').notNull(),
  sha256: text('sha256').notNull(),
  madeWith: jsonb('made_with').$type<MadeWith>(),
  createdAt: time('created_at').notNull().defaultNow(),
  removedAt: time('removed_at'),
  removedReason: text('removed_reason'),
  hasThumbnail: boolean('has_thumbnail').notNull().default(false),
  /** Its owner deleted it, and can undo that until then. */
  deleteAt: time('delete_at'),
  /** Only its owner and operators see it. */
  isPrivate: boolean('private').notNull().default(false),
  /** How often its owner has taken back all links to it. */
  linkRevocations: integer('link_revocations').notNull().default(0),
  month: month(),
})

/** The live table: of generations that have not moved to their month. */
export const images = pgTable('images', imageColumns(), (t) => [
  foreignKey({ columns: [t.generationId], foreignColumns: [generations.id] }),
  check('images_idx_check', sql`${t.idx} BETWEEN 0 AND 3`),
  unique('images_generation_id_idx_key').on(t.generationId, t.idx),
  index('images_private').on(t.slug).where(sql`${t.isPrivate}`),
  index('images_removed').on(t.slug).where(sql`${t.removedAt} IS NOT NULL`),
  index('images_delete_at').on(t.deleteAt).where(sql`${t.deleteAt} IS NOT NULL AND ${t.removedAt} IS NULL`),
])

/** The live table and all months. */
export const allImages = pgTable('all_images', imageColumns())

export const takedowns = pgTable(
  'takedowns',
  {
    slug: text('slug').primaryKey(),
    attempts: integer('attempts').notNull().default(0),
    dueAt: time('due_at').notNull().defaultNow(),
  },
  (t) => [index('takedowns_due').on(t.dueAt)],
)

/** What the CDN is to purge once more. */
export const cdnPurges = pgTable(
  'cdn_purges',
  {
    url: text('url').primaryKey(),
    attempts: integer('attempts').notNull().default(0),
    dueAt: time('due_at').notNull(),
  },
  (t) => [index('cdn_purges_due').on(t.dueAt)],
)

/** Images whose files are still to be brought to where `isPrivate` wants them. */
export const imageMoves = pgTable(
  'image_moves',
  {
    slug: text('slug').primaryKey(),
    /** Rises with each change. */
    changes: integer('changes').notNull().default(0),
    attempts: integer('attempts').notNull().default(0),
    dueAt: time('due_at').notNull().defaultNow(),
    /** Until then a store may still carry out a removal that a server has asked for. */
    removingUntil: time('removing_until'),
  },
  (t) => [index('image_moves_due').on(t.dueAt)],
)

/** What every server must know and nobody else. */
export const secrets = pgTable('secrets', {
  name: text('name').primaryKey(),
  value: bytea('value').notNull(),
})

export const folders = pgTable(
  'folders',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    userId: userId().notNull(),
    /** Null: the favourites. */
    name: text('name'),
    createdAt: time('created_at').notNull().defaultNow(),
  },
  (t) => [
    check('folders_name_check', sql`length(${t.name}) BETWEEN 1 AND 60`),
    uniqueIndex('folders_name').on(t.userId, sql`coalesce(lower(${t.name}), '')`),
  ],
)

/** With the image's place in its owner's gallery, which never changes. */
export const folderImages = pgTable(
  'folder_images',
  {
    folderId: uuid('folder_id')
      .notNull()
      .references(() => folders.id, { onDelete: 'cascade' }),
    createdAt: time('created_at').notNull(),
    seq: int8('seq').notNull(),
    idx: integer('idx').notNull(),
    slug: text('slug').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.folderId, t.createdAt, t.seq, t.idx] }),
    index('folder_images_slug').on(t.slug, t.folderId),
  ],
)

/** Open: not dismissed, and the image is not removed. */
export const imageReports = pgTable(
  'image_reports',
  {
    id: int8('id').primaryKey().generatedAlwaysAsIdentity(),
    slug: text('slug').notNull(),
    at: time('at').notNull().defaultNow(),
    reason: text('reason').$type<ReportReason>().notNull(),
    note: text('note').notNull().default(''),
    /** How many reports it stands for. */
    times: integer('times').notNull().default(1),
    dismissedAt: time('dismissed_at'),
    dismissedBy: text('dismissed_by'),
  },
  (t) => [
    check('image_reports_note_check', sql`length(${t.note}) <= 1000`),
    index('image_reports_open').on(t.slug, t.id).where(sql`${t.dismissedAt} IS NULL`),
  ],
)
