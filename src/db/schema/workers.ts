/** The backends of the workers, and which process leads. */
import { boolean, doublePrecision, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { int8, time } from './columns.js'

export const backends = pgTable(
  'backends',
  {
    worker: text('worker').notNull(),
    name: text('name').notNull(),
    up: boolean('up').notNull(),
    models: text('models').array(),
    samplers: text('samplers').array().notNull().default([]),
    maxSeed: int8('max_seed').notNull().default(4294967295),
    sizeMultiple: integer('size_multiple').notNull().default(8),
    maxCfgScale: doublePrecision('max_cfg_scale'),
    loaded: text('loaded'),
    error: text('error'),
    errorAt: time('error_at'),
    failing: boolean('failing').notNull().default(false),
    /** By definition that it cannot draw with: what it lacks, a sentence each. */
    lacks: jsonb('lacks').$type<Readonly<Record<string, readonly string[]>>>(),
    changedAt: time('changed_at').notNull().defaultNow(),
    seenAt: time('seen_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.worker, t.name] })],
)

export const leases = pgTable('leases', {
  name: text('name').primaryKey(),
  holder: text('holder').notNull(),
  until: time('until').notNull(),
})
