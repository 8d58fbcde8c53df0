/** Up to which of its generations an account's prompts and images are gone. */
import { sql } from 'drizzle-orm'
import { pgTable } from 'drizzle-orm/pg-core'
import { userId } from './accounts.js'
import { int8, time } from './columns.js'

const nothing = sql`'-infinity'`

export const retention = pgTable('retention', {
  userId: userId().primaryKey(),
  promptsAt: time('prompts_at').notNull().default(nothing),
  promptsSeq: int8('prompts_seq').notNull().default(0),
  imagesAt: time('images_at').notNull().default(nothing),
  imagesSeq: int8('images_seq').notNull().default(0),
})
