/** What can be asked for. */
import { sql } from 'drizzle-orm'
import { boolean, check, integer, jsonb, pgTable, text, unique, uuid } from 'drizzle-orm/pg-core'
import type { ModelParameters } from '../../core/catalog/model-parameters.js'
import type { Pricing } from '../../core/catalog/price.js'
import { bytea, int8, time } from './columns.js'

export const modelVersions = pgTable(
  'model_versions',
  {
    id: int8('id').primaryKey(),
    name: text('name').notNull(),
    modelName: text('model_name').notNull(),
    baseModel: text('base_model').notNull(),
    type: text('type').notNull(),
    filename: text('filename').notNull(),
    coverImage: text('cover_image'),
    nsfw: boolean('nsfw').notNull().default(false),
    enabled: boolean('enabled').notNull().default(true),
    creditsPerImage: int8('credits_per_image').notNull().default(1),
    createImageModel: text('create_image_model').unique('model_versions_create_image_model_key'),
    pricing: jsonb('pricing').$type<Pricing>(),
    parameters: jsonb('parameters').$type<ModelParameters>(),
    description: text('description'),
    /** An image's slug, or a name of `model_covers`. */
    cover: text('cover'),
    position: integer('position'),
    isDefault: boolean('is_default').notNull().default(false),
  },
  (t) => [
    check('model_versions_id_check', sql`${t.id} > 0`),
    check('model_versions_credits_per_image_check', sql`${t.creditsPerImage} BETWEEN 0 AND 1000000`),
    check('model_versions_description_check', sql`length(${t.description}) BETWEEN 1 AND 200`),
  ],
)

/** Pictures that operators have uploaded, by a hash of them. */
export const modelCovers = pgTable('model_covers', {
  name: text('name').primaryKey(),
  webp: bytea('webp').notNull(),
  createdAt: time('created_at').notNull().defaultNow(),
})

export const modelVersionId = () => int8('model_version_id').references(() => modelVersions.id)

export const modelDefinitions = pgTable(
  'model_definitions',
  {
    filename: text('filename').primaryKey(),
    name: text('name').notNull(),
    revision: integer('revision').notNull(),
    /** SHA-256 of the document, in lower-case hex. */
    hash: text('hash').notNull(),
    /** JSON, as the adapter of its kind of server has written it. */
    document: text('document').notNull(),
    createdAt: time('created_at').notNull().defaultNow(),
    /** When an import last asked which backends can draw with it. */
    askedAt: time('asked_at'),
  },
  (t) => [
    unique('model_definitions_name_revision_key').on(t.name, t.revision),
    check('model_definitions_revision_check', sql`${t.revision} > 0`),
    check('model_definitions_filename_check', sql`${t.filename} = ${t.name} || '@' || ${t.revision}::text`),
  ],
)

export const catalogRevision = pgTable(
  'catalog_revision',
  {
    onlyRow: boolean('only_row').primaryKey().default(true),
    revision: uuid('revision').notNull(),
  },
  (t) => [check('catalog_revision_only_row_check', sql`${t.onlyRow}`)],
)
