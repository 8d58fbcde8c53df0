/** Up next: what accounts have lined up, to be submitted one after the other. */
import { sql } from 'drizzle-orm'
import { check, index, jsonb, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import type { IdeaBody, Paused } from '../../core/up-next/up-next.js'
import { userId } from './accounts.js'
import { int8, time } from './columns.js'

export const upNext = pgTable(
  'up_next',
  {
    userId: userId().primaryKey(),
    /** Null: it goes on. */
    paused: text('paused').$type<Paused>(),
    /** When a server looks at it next. Null: it is paused or empty. */
    dueAt: time('due_at'),
    /** Raised with each change of the two above. */
    version: int8('version').notNull().default(0),
  },
  (t) => [
    check('up_next_paused_check', sql`${t.paused} IN ('by_person', 'by_refusal')`),
    index('up_next_due').on(t.dueAt).where(sql`${t.dueAt} IS NOT NULL`),
  ],
)

export const upNextIdeas = pgTable(
  'up_next_ideas',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    userId: uuid('user_id')
      .notNull()
      .references(() => upNext.userId, { onDelete: 'cascade' }),
    position: int8('position').notNull(),
    body: jsonb('body').notNull().$type<IdeaBody>(),
    refusal: text('refusal'),
    createdAt: time('created_at').notNull().defaultNow(),
  },
  (t) => [index('up_next_ideas_position').on(t.userId, t.position)],
)
