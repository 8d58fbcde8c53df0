/** The images, and which files of removed ones may still be there. */
import { sql } from 'drizzle-orm'
import { boolean, check, index, integer, jsonb, pgTable, text, unique } from 'drizzle-orm/pg-core'
import type { MadeWith } from '../../core/generations/run/backend.js'
import { int8, time } from './columns.js'
import { generationId } from './generations.js'

export const images = pgTable(
  'images',
  {
    slug: text('slug').primaryKey(),
    generationId: generationId().notNull(),
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
  },
  (t) => [
    check('images_idx_check', sql`${t.idx} BETWEEN 0 AND 3`),
    unique('images_generation_id_idx_key').on(t.generationId, t.idx),
    index('images_removed').on(t.slug).where(sql`${t.removedAt} IS NOT NULL`),
  ],
)

export const takedowns = pgTable(
  'takedowns',
  {
    slug: text('slug')
      .primaryKey()
      .references(() => images.slug),
    attempts: integer('attempts').notNull().default(0),
    dueAt: time('due_at').notNull().defaultNow(),
  },
  (t) => [index('takedowns_due').on(t.dueAt)],
)
