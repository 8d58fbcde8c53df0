/** A row for each tenth of what is submitted and ended at full rate: how fast that was, and what became of the live tables. */
import type pg from 'pg'
import { table } from '../bench/figures.js'
import type { GrowthOptions } from './growth.js'
import { tableStates } from './tables.js'
import { turnOver } from './turnover.js'

type BloatOptions = Pick<GrowthOptions, 'turnover' | 'renewals' | 'accounts' | 'signal' | 'say'> & {
  readonly databaseUrl: string
}

const HEAD = [
  ...['ended', 'a second', 'submit, ms', 'claim, ms', 'end, ms', 'pages a claim reads'],
  ...['generations: dead rows, autovacuums', 'users', 'unenqueued'],
  ...['generations, MB', 'its indexes, MB', 'those of the queue, MB'],
]

/** Resolves to how many have ended. */
export async function bloat({ turnover, say, ...options }: BloatOptions, client: pg.Client): Promise<number> {
  await client.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements')
  say(`\n${table(HEAD, [])}`)
  return turnOver({
    ...{ ...options, generations: turnover },
    async onTenth({ ended, perSecond, submitMs, claimMs, endMs }) {
      const pages = await pagesOfClaim(client)
      const states = await tableStates(client)
      const of = (name: string) => states.find((state) => state.name === name)
      const dead = (name: string) => `${of(name)?.dead.toLocaleString('en')}, ${of(name)?.autovacuums}`
      const sizes = [of('generations')?.bytes, of('generations')?.indexBytes, await queueBytes(client)]
      const cells = [
        ...[ended.toLocaleString('en'), perSecond.toFixed(0), ...[submitMs, claimMs, endMs].map((ms) => ms.toFixed(1))],
        ...[pages.toFixed(0), dead('generations'), dead('users'), dead('unenqueued')],
        ...sizes.map((bytes = 0) => (bytes / 1e6).toFixed(1)),
      ]
      say(`| ${cells.join(' | ')} |`)
    },
  })
}

/** Since it was asked last, from memory or from the disk. */
async function pagesOfClaim(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pages: number }>(
    `SELECT (sum(shared_blks_hit + shared_blks_read) / sum(calls))::float8 AS pages FROM pg_stat_statements
      WHERE query LIKE '%at_head AS MATERIALIZED%'`,
  )
  await client.query('SELECT pg_stat_statements_reset()')
  return rows[0]?.pages ?? 0
}

/** Of the indexes that hold only what waits or runs. */
async function queueBytes(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ bytes: number }>(
    `SELECT sum(pg_relation_size(indexrelid))::float8 AS bytes FROM pg_stat_user_indexes
      WHERE indexrelname LIKE 'generations_queue%' OR indexrelname IN ('generations_one_active', 'generations_processing')`,
  )
  return rows[0]?.bytes ?? 0
}
