/** Settings of the Create page that accounts keep under a name. */
import { sql } from 'drizzle-orm'
import { check, jsonb, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import type { SettingsBody } from '../../core/accounts/saved-settings.js'
import { userId } from './accounts.js'
import { time } from './columns.js'

export const savedSettings = pgTable(
  'saved_settings',
  {
    id: uuid('id').primaryKey().defaultRandom(),
    userId: userId().notNull(),
    name: text('name').notNull(),
    /** Words for the end of each prompt; may be empty. */
    style: text('style').notNull(),
    /** Of a submit without its prompt and its seed. */
    body: jsonb('body').notNull().$type<SettingsBody>(),
    createdAt: time('created_at').notNull().defaultNow(),
  },
  (t) => [
    check('saved_settings_name_check', sql`length(${t.name}) BETWEEN 1 AND 60`),
    uniqueIndex('saved_settings_name').on(t.userId, sql`lower(${t.name})`),
  ],
)
