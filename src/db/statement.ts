/**
 * Statements that Drizzle's builder cannot express, or that run all the time: a template over the schema, compiled once
 * and prepared by name. Everything else uses the builder.
 */
import { type Column, is, Param, type Placeholder, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { PgDialect, type PgTable } from 'drizzle-orm/pg-core'
import type { SelectResultFields } from 'drizzle-orm/query-builders/select.types'
import type pg from 'pg'

/** The pool, or a client of it where a transaction is open. */
export interface Queryable {
  query(config: pg.QueryConfig): Promise<pg.QueryResult>
}

/** `values` has each parameter by its name; undefined means null, and a name that is missing is a TypeError. */
export interface Statement<Row> {
  rows(on: Queryable, values?: object): Promise<Row[]>
  first(on: Queryable, values?: object): Promise<Row | undefined>
  /** Resolves to how many rows were changed or found. */
  count(on: Queryable, values?: object): Promise<number>
  /** For what it does alone. */
  run(on: Queryable, values?: object): Promise<void>
}

const dialect = new PgDialect()

const texts = new Map<string, string>()
/** What this process may prepare: each statement's text, by its name. */
export const preparedTexts: ReadonlyMap<string, string> = texts

/** A value that the statement gets when it runs. */
export const param = <Name extends string>(name: Name): Placeholder<Name> => sql.placeholder(name)

/**
 * For FROM: the statement is answered before its commit is on the disk. Only for what holds for seconds, and whose loss in a
 * crash of Postgres is like its never having come.
 */
export const NOT_SYNCED = sql`(SELECT set_config('synchronous_commit', 'off', true)) AS not_synced`

/**
 * A parameter whose value the planner does not see, in a statement that takes long to plan: a plan for one value would
 * look cheaper than one for all, and Postgres would plan anew each time.
 */
export const hidden = (name: string, type: string): SQL =>
  sql`(SELECT ${param(name)}::${sql.raw(type)})::${sql.raw(type)}`

/**
 * Values in the template become part of the text, so that a generic plan knows them; only `param` makes parameters.
 * @param name unique: Postgres keeps one plan under it
 * @typeParam Row as Postgres would send it; test/db/statement-types.test.ts compares the two
 * @throws where another statement has the name
 */
export const statement =
  <Row = unknown>(name: string) =>
  (strings: TemplateStringsArray, ...parts: unknown[]): Statement<Row> => {
    const { sql: compiled, params } = dialect.sqlToQuery(sql(strings, ...parts).inlineParams())
    const names = params.map((it) => ((is(it, Param) ? it.value : it) as Placeholder).name as string)
    // Drizzle counts each use; one number per name, so that Postgres finds the same type for all of them.
    const inOrder = [...new Set(names)]
    const text = compiled.replace(/\$(\d+)/g, (_, n) => `$${inOrder.indexOf(names[n - 1] as string) + 1}`)
    if ((texts.get(name) ?? text) !== text) throw new Error(`two statements are named ${name}`)
    texts.set(name, text)

    const query = (on: Queryable, values: object = {}): Promise<pg.QueryResult<never>> => {
      const inOrderValues = inOrder.map((it) => {
        // A misspelled name must not become null: that could be another condition.
        if (!(it in values)) throw new TypeError(`the statement ${name} got no value for ${it}`)
        return (values as Record<string, unknown>)[it] ?? null
      })
      return on.query({ name, text, values: inOrderValues }) as Promise<pg.QueryResult<never>>
    }
    return {
      rows: async (on, values) => (await query(on, values)).rows,
      first: async (on, values) => (await query(on, values)).rows[0],
      count: async (on, values) => (await query(on, values)).rowCount ?? 0,
      run: async (on, values) => void (await query(on, values)),
    }
  }

/** Runs a statement once, without a name; values in the template are parameters. */
export async function queryOnce<Row>(on: Queryable, template: SQL): Promise<Row[]> {
  const { sql: text, params } = dialect.sqlToQuery(template)
  return (await on.query({ text, values: params })).rows
}

/**
 * Runs a query once for each item of a batch, as if alone, and resolves to the row of each. OFFSET 0 keeps the planner
 * from reading whole tables instead, which it would do when it believes them to be small. The inner SELECT hides from it
 * how many items there are: a plan for fewer than it assumes would look cheaper, and it would plan anew each time.
 * @param types of the item's values, which the query knows as `item.id`, …
 */
export function eachOf<Row, Name extends string>(name: string, types: Readonly<Record<Name, string>>, query: SQL) {
  const names = Object.keys(types) as Name[]
  const each = statement<Row & { readonly place: number }>(name)`
    SELECT found.*, item.place
      FROM unnest(${commaList(names.map((it) => sql`(SELECT ${param(it)}::${sql.raw(types[it])}[])`))})
           WITH ORDINALITY AS item (${commaList(names.map((it) => sql.identifier(it).getSQL()))}, place)
     CROSS JOIN LATERAL (${query} OFFSET 0) AS found`
  return async (on: Queryable, items: readonly Readonly<Record<Name, unknown>>[]): Promise<(Row | undefined)[]> => {
    const values = Object.fromEntries(names.map((it) => [it, items.map((item) => item[it])]))
    const rows = Array<Row | undefined>(items.length).fill(undefined)
    for (const { place, ...row } of await each.rows(on, values)) rows[place - 1] = row as Row
    return rows
  }
}

/** The items of the parameter `items`, an array as JSON: rows named `item`, with columns of these types. */
export const itemsOf = (types: Readonly<Record<string, string>>): SQL => sql`
  json_to_recordset(${param('items')}::json)
  AS item (${commaList(Object.entries(types).map(([name, type]) => sql`${sql.identifier(name)} ${sql.raw(type)}`))})`

/** Columns of a table, by their names in the code. */
export const columns = <Table extends PgTable, Name extends keyof Table>(table: Table, ...names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, table[name]])) as Pick<Table, Name>

/** The types of columns of a table, by their names in the code. */
export const typesOf = <Table extends PgTable, Name extends string & keyof Table>(table: Table, ...names: Name[]) =>
  Object.fromEntries(names.map((name) => [name, (table[name] as Column).getSQLType()])) as Record<Name, string>

/** Parameters named like columns of a table, with their types. */
export const typedParams = <Table extends PgTable, Name extends string & keyof Table>(table: Table, ...names: Name[]) =>
  Object.fromEntries(
    Object.entries(typesOf(table, ...names)).map(([name, type]) => [
      name,
      sql`${param(name)}::${sql.raw(type as string)}`,
    ]),
  ) as Record<Name, SQL>

/** A row of what `named` selects. */
export type RowOf<What> = SelectResultFields<What>

/** What to select, under these names. */
export const selectAs = (what: Readonly<Record<string, SQLWrapper>>): SQL =>
  commaList(Object.entries(what).map(([name, value]) => sql`${value} AS ${sql.identifier(name)}`))

type Values<Table extends PgTable> = {
  readonly [Name in keyof Table['$inferInsert']]?: SQLWrapper | Table['$inferInsert'][Name]
}

/** What SET says. */
export const setList = <Table extends PgTable>(table: Table, values: Values<Table>): SQL =>
  commaList(Object.entries(values).map(([name, value]) => sql`${columnName(table, name)} = ${value}`))

/** Inserts one row, or one for each of what a FROM behind it has. */
export const insertInto = <Table extends PgTable>(table: Table, values: Values<Table>): SQL =>
  sql.join([
    sql`INSERT INTO ${table} (${commaList(Object.keys(values).map((name) => columnName(table, name)))})`,
    sql` SELECT ${commaList(Object.values(values).map((value) => sql`${value}`))}`,
  ])

const columnName = (table: PgTable, name: string) =>
  sql`${sql.identifier((table as unknown as Record<string, Column>)[name]?.name as string)}`

/** The UUID before all others: where pages in the order of IDs begin. */
export const FIRST_UUID = '00000000-0000-0000-0000-000000000000'

/** Parts with commas between them. */
export const commaList = (parts: readonly SQL[]): SQL => sql.join([...parts], sql`, `)
