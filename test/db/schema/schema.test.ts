import { readdirSync } from 'node:fs'
import { is, SQL } from 'drizzle-orm'
import { getTableConfig, type IndexedColumn, PgDialect, PgTable } from 'drizzle-orm/pg-core'
import type pg from 'pg'
import { expect, it } from 'vitest'
import { useDatabase } from '../../support/database.js'

const context = useDatabase()
const FOLDER = '../../../src/db/schema/'
const FILES = readdirSync(new URL(FOLDER, import.meta.url))
const MODULES = await Promise.all(FILES.map((file) => import(`${FOLDER}${file}`)))
const TABLES = MODULES.flatMap((module) => Object.values(module)).filter((value) => is(value, PgTable))

it('the schema describes each table, column, default, constraint and index that the migrations make', async () => {
  const client = await context.db.pool.connect()
  try {
    // Postgres writes both down in its own words.
    await client.query('CREATE SCHEMA described; SET search_path = described, public')
    for (const statement of described()) await client.query(statement)
    const [there, migrated] = [await madeIn(client, 'described'), await madeIn(client, 'public')]
    expect(migrated.length).toBeGreaterThan(250)
    expect(there).toEqual(migrated)
  } finally {
    client.release(true)
  }
})

/** It has neither keys nor defaults: each of its parts has keys, and new rows come into the live table alone. */
const isPartitioned = (name: string) => name.startsWith('all_')

/** As SQL that makes the tables of the schema, those that others refer to first. */
function described(): string[] {
  const tables = TABLES.map((table) => getTableConfig(table))
  const foreignKeys = tables
    .filter(({ name }) => !isPartitioned(name))
    .flatMap(({ name, foreignKeys }) =>
      foreignKeys.map((key) => {
        const { columns, foreignTable, foreignColumns } = key.reference()
        const to = `${getTableConfig(foreignTable).name} (${names(foreignColumns)})`
        const deletes = key.onDelete && key.onDelete !== 'no action' ? `ON DELETE ${key.onDelete}` : ''
        return `ALTER TABLE ${name} ADD FOREIGN KEY (${names(columns)}) REFERENCES ${to} ${deletes}`
      }),
    )
  return [...tables.flatMap(tableOf), ...foreignKeys]
}

function tableOf(table: ReturnType<typeof getTableConfig>): string[] {
  const columns = table.columns.map((column) =>
    [
      column.name,
      column.getSQLType(),
      column.notNull && 'NOT NULL',
      !isPartitioned(table.name) && column.primary && 'PRIMARY KEY',
      column.isUnique && `CONSTRAINT ${column.uniqueName} UNIQUE`,
      !isPartitioned(table.name) && column.default !== undefined && `DEFAULT ${literal(column.default)}`,
      column.generatedIdentity && `GENERATED ${column.generatedIdentity.type} AS IDENTITY`,
    ]
      .filter(Boolean)
      .join(' '),
  )
  const constraints = [
    ...table.primaryKeys.map((key) => `PRIMARY KEY (${names(key.columns)})`),
    ...table.uniqueConstraints.map((key) => `CONSTRAINT ${key.getName()} UNIQUE (${names(key.columns)})`),
    ...table.checks.map(({ name, value }) => `CONSTRAINT ${name} CHECK (${textOf(value)})`),
  ]
  const indexes = table.indexes.map(({ config: { name, unique, method, columns, where, with: more } }) => {
    const keys = columns.map((column) => (is(column, SQL) ? textOf(column) : keyOf(column as IndexedColumn)))
    const of = `${table.name} USING ${method} (${keys.join(', ')})`
    const included = more?.include ? `INCLUDE (${names(more.include)})` : ''
    return `CREATE ${unique ? 'UNIQUE' : ''} INDEX ${name} ON ${of} ${included} ${where ? `WHERE ${textOf(where)}` : ''}`
  })
  return [`CREATE TABLE ${table.name} (${[...columns, ...constraints].join(', ')})`, ...indexes]
}

const names = (columns: readonly { readonly name: string }[]) => columns.map(({ name }) => name).join(', ')

const keyOf = ({ name, indexConfig: { order, nulls, opClass } }: IndexedColumn) =>
  `${name} ${opClass ?? ''} ${order} NULLS ${nulls}`

const textOf = (value: SQL) => new PgDialect().sqlToQuery(value.inlineParams(), 'indexes').sql

function literal(value: unknown): string {
  if (is(value, SQL)) return textOf(value)
  if (Array.isArray(value)) return `'{${value}}'`
  return typeof value === 'string' ? `'${value}'` : String(value)
}

/** What there is in a namespace, a line each. Keys have names of their own where a migration gave them none. */
async function madeIn(client: pg.PoolClient, namespace: string): Promise<string[]> {
  const { rows } = await client.query<{ line: string }>(
    `WITH tables AS (SELECT oid, relname FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'p'))
     SELECT concat_ws(' ', relname, attname, format_type(atttypid, atttypmod), attnotnull, attidentity,
                      pg_get_expr(adbin, adrelid)) AS line
       FROM tables JOIN pg_attribute a ON attrelid = tables.oid AND attnum > 0 AND NOT attisdropped
       LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
     UNION ALL
     SELECT concat_ws(' ', relname, CASE WHEN contype IN ('c', 'u') THEN conname END, pg_get_constraintdef(c.oid))
       FROM tables JOIN pg_constraint c ON conrelid = tables.oid WHERE contype NOT IN ('n', 't')
     UNION ALL
     SELECT pg_get_indexdef(indexrelid)
       FROM tables JOIN pg_index ON indrelid = tables.oid AND indisvalid AND NOT indisprimary
       JOIN pg_class i ON i.oid = indexrelid AND i.relkind = 'i'
     ORDER BY 1`,
    [namespace],
  )
  return rows.map(({ line }) => line.replaceAll(`${namespace}.`, '')).toSorted()
}
