/** The live tables as Postgres sees them: rows, dead rows, vacuums, and how full their indexes are. */
import type pg from 'pg'

export const LIVE_TABLES = ['generations', 'images', 'credit_ledger', 'usage', 'users', 'unenqueued'] as const
type LiveTable = (typeof LIVE_TABLES)[number]

interface TableState {
  readonly name: LiveTable
  readonly rows: number
  readonly dead: number
  readonly bytes: number
  readonly indexBytes: number
  readonly autovacuums: number
  readonly autoanalyzes: number
  /** The share of updates that wrote no index. */
  readonly hot: number | null
}

interface IndexState {
  readonly name: string
  readonly bytes: number
  /** Percent of the leaf pages that are in use; null without pgstattuple, or where the index is empty. */
  readonly density: number | null
}

export async function tableStates(client: pg.Client): Promise<TableState[]> {
  const { rows } = await client.query<TableState>(
    `SELECT relname AS name, n_live_tup::float8 AS rows, n_dead_tup::float8 AS dead, pg_table_size(relid)::float8 AS bytes,
            pg_indexes_size(relid)::float8 AS "indexBytes", autovacuum_count::integer AS autovacuums,
            autoanalyze_count::integer AS autoanalyzes, n_tup_hot_upd::float8 / nullif(n_tup_upd, 0) AS hot
       FROM pg_stat_user_tables WHERE relname = ANY ($1) ORDER BY array_position($1, relname::text)`,
    [LIVE_TABLES],
  )
  return rows
}

/** Reads all pages of the indexes. */
export async function indexStates(client: pg.Client): Promise<IndexState[]> {
  const { rows } = await client.query<{ name: string; bytes: number }>(
    `SELECT c.relname AS name, pg_relation_size(c.oid)::float8 AS bytes FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
      WHERE i.indrelid::regclass::text = ANY ($1) ORDER BY array_position($1, i.indrelid::regclass::text), bytes DESC, name`,
    [LIVE_TABLES],
  )
  const hasDensity = await client.query('CREATE EXTENSION IF NOT EXISTS pgstattuple').then(
    () => true,
    () => false,
  )
  const states: IndexState[] = []
  for (const { name, bytes } of rows) {
    const found = hasDensity
      ? (await client.query<{ density: number }>(`SELECT avg_leaf_density AS density FROM pgstatindex($1)`, [name]))
          .rows
      : []
    const density = found[0]?.density
    states.push({ name, bytes, density: density === undefined || Number.isNaN(density) ? null : density })
  }
  return states
}

const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1)
const count = (n: number) => Math.round(n).toLocaleString('en')

export const TABLE_HEAD = [
  'table',
  'rows',
  'dead',
  'MB',
  'MB of indexes',
  'autovacuums, analyzes',
  'updates without indexes',
]
export const tableRows = (states: readonly TableState[]): string[][] =>
  states.map(({ name, rows, dead, bytes, indexBytes, autovacuums, autoanalyzes, hot }) => [
    ...[name, count(rows), count(dead), megabytes(bytes), megabytes(indexBytes), `${autovacuums}, ${autoanalyzes}`],
    hot === null ? '' : `${(hot * 100).toFixed(0)} %`,
  ])

/** MB and density of each index, at each of these moments. */
export function indexTable(moments: ReadonlyMap<string, readonly IndexState[]>): [head: string[], rows: string[][]] {
  const names = [...new Set([...moments.values()].flatMap((states) => states.map(({ name }) => name)))]
  const cell = (states: readonly IndexState[], name: string) => {
    const state = states.find((it) => it.name === name)
    if (!state) return ''
    return megabytes(state.bytes) + (state.density === null ? '' : `, ${state.density.toFixed(0)} %`)
  }
  return [
    ['index: MB, density', ...moments.keys()],
    names.map((name) => [name, ...[...moments.values()].map((states) => cell(states, name))]),
  ]
}
