/**
 * What the statements of every day take as history and queue grow, whatever Postgres believes of both: in a grown system
 * and in an empty one beside it, in turn.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { SAMPLERS } from '../../../src/core/generations/generation.js'
import type { Affinity, ServedCapabilities } from '../../../src/core/generations/run/ports.js'
import { createDatabase, type Database } from '../../../src/db/client.js'
import { queuePositions } from '../../../src/db/generations/estimates.js'
import { historyStore } from '../../../src/db/generations/history.js'
import { pollStore } from '../../../src/db/generations/poll.js'
import { runStore } from '../../../src/db/generations/run.js'
import { submissionStore } from '../../../src/db/generations/submit/charged.js'
import { migrateDatabase } from '../../../src/db/migrations/migrate.js'
import { startLocalPostgres } from '../../../src/local/postgres.js'
import { aGeneration } from '../../support/givens.js'
import { median, table } from './figures.js'
import {
  accountId,
  givenAccounts,
  givenStored,
  givenWaiting,
  keyId,
  MODELS,
  openFiller,
  RARE,
  storedId,
  withoutIndexes,
} from './fill.js'
import { benchDirectory } from './stack.js'

const upTo = (limit: string | undefined, usual: number, all: readonly number[]) =>
  all.filter((size) => size <= Number(limit ?? usual))
const STORED = upTo(process.env.BENCH_STORED, 1_000_000, [10_000, 1_000_000, 10_000_000])
export const WAITING = upTo(process.env.BENCH_WAITING, 100_000, [10, 10_000, 100_000])

/** Each statement is asked once for each of these accounts. Their own history is all that the empty system has. */
const ASKING = 40
const EMPTY = ASKING * 25
const OWNERS = Math.max(...WAITING)

const QUEUE_INDEXES = ['queue', 'queue_of_kind', 'one_active', 'deadline']

/** `stale`: as they were before the last rows of the history were stored, with nothing in the queue. */
const STATISTICS = ['stale', 'fresh', 'missing'] as const
type Statistics = (typeof STATISTICS)[number]

const SERVES: ServedCapabilities = { models: MODELS, samplers: SAMPLERS, maxSeed: 4294967295, sizeMultiple: 8 }
const HALF: ServedCapabilities = { ...SERVES, samplers: SAMPLERS.filter((sampler) => sampler !== RARE) }
const LOADED: Affinity = { filename: MODELS[4] as string, maxDelayMs: 3_600_000, msPerPixelStep: 1e-6 }

export interface Grown {
  readonly stored: number
  readonly waiting: number
  readonly statistics: Statistics
  /** Milliseconds of each statement, in the middle: here, and in the empty system meanwhile. */
  readonly p50: Readonly<Record<string, { readonly grown: number; readonly empty: number }>>
}

interface System {
  readonly url: string
  readonly filler: pg.Client
  readonly stored: number
}

/** Resolves to a line for each size of the history and of the queue, and each state of the statistics. */
export async function benchGrowth(): Promise<Grown[]> {
  const directory = await benchDirectory()
  const postgres = await startLocalPostgres({
    dataDir: join(directory, 'postgres'),
    settings: { autovacuum: 'off', shared_buffers: '256MB', max_wal_size: '4GB', maintenance_work_mem: '256MB' },
  })
  const fillers: pg.Client[] = []
  const open = async (url: string): Promise<System> => {
    await migrateDatabase(url)
    const filler = await openFiller(url)
    fillers.push(filler)
    await givenAccounts(filler, ASKING + OWNERS)
    await givenStored(filler, 0, EMPTY, `n % ${ASKING}`)
    await filler.query('ANALYZE')
    return { url, filler, stored: EMPTY }
  }
  try {
    let grown = await open(postgres.url)
    await grown.filler.query('CREATE DATABASE empty')
    const empty = await open(Object.assign(new URL(postgres.url), { pathname: '/empty' }).href)
    await refillQueue(empty.filler, 10, 'fresh')
    const lines: Grown[] = []
    for (const stored of STORED) {
      await emptyQueue(grown.filler)
      await grown.filler.query('ANALYZE')
      const fill = () => givenStored(grown.filler, grown.stored, stored, `${ASKING} + n % ${OWNERS}`)
      await withoutIndexes(grown.filler, fill)
      grown = { ...grown, stored }
      for (const statistics of STATISTICS)
        for (const waiting of WAITING) {
          await refillQueue(grown.filler, waiting, statistics)
          const line = { stored, waiting, statistics, p50: await compare(grown, empty) }
          console.log(rowOf(line).join('   '))
          lines.push(line)
        }
    }
    return lines
  } finally {
    for (const filler of fillers) await filler.end()
    await postgres.stop()
    await rm(directory, { recursive: true, force: true, maxRetries: 5 })
  }
}

async function emptyQueue(filler: pg.Client): Promise<void> {
  await filler.query(`DELETE FROM generations WHERE finished_at IS NULL`)
  await filler.query('VACUUM generations')
  // The empty pages of a long queue deter the planner. In service its rows stay as history, which deters it more.
  for (const name of QUEUE_INDEXES) await filler.query(`REINDEX INDEX generations_${name}`)
}

async function refillQueue(filler: pg.Client, waiting: number, statistics: Statistics): Promise<void> {
  await emptyQueue(filler)
  await givenWaiting(filler, waiting, ASKING)
  if (statistics === 'fresh') await filler.query('ANALYZE')
  const ours = `relnamespace = 'public'::regnamespace AND relkind = 'r'`
  if (statistics === 'missing')
    await filler.query(`
      DELETE FROM pg_statistic WHERE starelid IN (SELECT oid FROM pg_class WHERE ${ours});
      UPDATE pg_class SET relpages = 0, reltuples = -1, relallvisible = 0 WHERE ${ours}`)
}

/** Resolves to how long the statement took; undoes it, or fails where its answer is wrong. */
type Ask = (n: number) => Promise<number>

async function compare(grown: System, empty: System): Promise<Grown['p50']> {
  // Pools of their own: no plan is left from before.
  const pools = [grown, empty].map(({ url }) => createDatabase(url, { maxConnections: 1, onError: () => undefined }))
  const [ofGrown, ofEmpty] = pools.map((db, n) => statements(db, n === 0 ? grown : empty)) as [Asks, Asks]
  try {
    const p50: Record<string, { grown: number; empty: number }> = {}
    for (const name of Object.keys(ofGrown) as (keyof Asks)[]) {
      const times: Record<'grown' | 'empty', number[]> = { grown: [], empty: [] }
      for (let n = 0; n < ASKING; n++) {
        times.grown.push(await ofGrown[name](n))
        times.empty.push(await ofEmpty[name](n))
      }
      p50[name] = { grown: median(times.grown), empty: median(times.empty) }
    }
    return p50
  } finally {
    for (const { pool } of pools) await pool.end()
  }
}

type Asks = ReturnType<typeof statements>

/** Each through its store, as the server and the workers ask it. */
function statements(db: Database, { filler, stored }: System) {
  const runs = runStore(db, { refundFailed: true })
  const [submissions, polls, history] = [submissionStore(db), pollStore(db), historyStore(db)]
  const places = queuePositions(db)
  const claim = (serves: ServedCapabilities, affinity?: Affinity) =>
    asking(
      () => runs.claim({ worker: 'w', backend: 'b' }, serves, affinity),
      (claimed) => {
        if (!claimed) throw new Error('nothing could be claimed')
        return filler.query(
          `UPDATE generations SET status = 'queued', worker = NULL, backend = NULL, started_at = NULL, lease_until = NULL
            WHERE id = $1`,
          [claimed.id],
        )
      },
    )
  const poll = (n: number) => polls.findOwned(accountId(n < EMPTY ? n % ASKING : ASKING + (n % OWNERS)), storedId(n))
  const found = async (view: unknown) => {
    if (!view) throw new Error('a poll found nothing')
  }
  return {
    poll: asking((n) => poll(stored - 1 - n), found),
    // In a long history they are on the disk.
    'poll of any age': asking(() => poll(Math.floor(Math.random() * stored)), found),
    submit: asking(
      (n) => {
        const generation = aGeneration({ id: accountId(n), keyId: keyId(n), username: '', key: '', developer: false })
        const options = { deadlineSeconds: 3600, idempotencyKey: undefined }
        return submissions.insert(generation, options)
      },
      ({ outcome }, n) => {
        if (outcome !== 'inserted') throw new Error(`a submit was answered ${outcome}`)
        return filler.query('DELETE FROM generations WHERE user_id = $1 AND finished_at IS NULL', [accountId(n)])
      },
    ),
    claim: claim(SERVES),
    'claim, loaded model': claim(SERVES, LOADED),
    'claim, first half not servable': claim(HALF),
    'place in the queue': asking(() => places.of({ lane: 'personal', seq: 1 })),
    // A new store has none yet; in a server one serves all polls of 0.4 s.
    'snapshot of the places': asking(() => queuePositions(db).of({ lane: 'personal', seq: 1 })),
    'history list': asking(
      (n) => history.generations(accountId(n), {}, { limit: 20, after: undefined }),
      async ({ items }) => {
        if (items.length !== 20) throw new Error(`a page of the history has ${items.length} items`)
      },
    ),
  }
}

function asking<Answer>(
  work: (n: number) => Promise<Answer>,
  after: (answer: Answer, n: number) => Promise<unknown> = async () => undefined,
): Ask {
  return async (n) => {
    const at = performance.now()
    const answer = await work(n)
    const took = performance.now() - at
    await after(answer, n)
    return took
  }
}

/** Markdown: milliseconds, and how many times those of the empty system. */
export function growthTable(lines: readonly Grown[]): string {
  return table(['stored', 'waiting', 'statistics', ...Object.keys(lines[0]?.p50 ?? {})], lines.map(rowOf))
}

const rowOf = ({ stored, waiting, statistics, p50 }: Grown): string[] => [
  ...[stored, waiting].map((count) => count.toLocaleString('en')),
  statistics,
  ...Object.values(p50).map(({ grown, empty }) => `${grown.toPrecision(2)} × ${(grown / empty).toFixed(2)}`),
]
