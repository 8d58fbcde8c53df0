/** Fills a Postgres with a history of generations, most of them in the tables of their months. */
import { createHash } from 'node:crypto'
import { link, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { migrateDatabase } from '../../../src/db/migrations/migrate.js'
import { startLocalPostgres } from '../../../src/local/postgres.js'
import { drawImage } from '../../stand-ins/a1111/images.js'
import { openFiller, withoutIndexes } from '../bench/fill.js'
import {
  CLEANING,
  type History,
  type ImageFile,
  preparation,
  promptParts,
  storing,
  storingAccounts,
} from './history.js'

/** What is lost when the machine stops is filled again. */
const UNSAFE = {
  ...{ fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', wal_level: 'minimal', max_wal_senders: '0' },
  ...{ autovacuum: 'off', max_wal_size: '4GB', checkpoint_timeout: '30min', shared_buffers: '1GB', work_mem: '64MB' },
  ...{ maintenance_work_mem: '512MB', jit: 'off' },
}
const CONNECTIONS = 2
/** A file system takes some ten thousand to a file. */
const LINKS = 10_000

export interface FillOptions {
  readonly history: History
  /** The directory in whose `postgres` the database is made. */
  readonly directory: string
  /** Where the file of each image is written; undefined: they have none. */
  readonly images: string | undefined
  readonly say: (line: string) => unknown
  /** Told how to stop what was started, which is done at the end in any case. */
  readonly onStarted: (stop: () => Promise<void>) => unknown
}

export async function fillHistory({ history, directory, images, say, onStarted }: FillOptions): Promise<void> {
  const postgres = await startLocalPostgres({ dataDir: join(directory, 'postgres'), settings: UNSAFE })
  onStarted(postgres.stop)
  await migrateDatabase(postgres.url)
  const fillers = await Promise.all(Array.from({ length: CONNECTIONS }, () => openFiller(postgres.url)))
  // Who stops the program stops Postgres.
  for (const filler of fillers) filler.on('error', () => undefined)
  const [first] = fillers as [pg.Client]
  try {
    for (const { text, values } of preparation(promptParts())) await first.query(text, values)
    for (const { month } of history.parts) if (month) await first.query('SELECT add_month($1)', [month])
    const file = images === undefined ? undefined : await drawn()
    await withoutIndexes(first, async () => {
      for (const text of storingAccounts(history)) await first.query(text)
      // The longest first.
      await inTurn(fillers, history.parts.toReversed(), async (filler, part) => {
        for (const text of storing(history, part, file)) await filler.query(text)
        const name = part.month?.slice(0, 7) ?? 'the live tables'
        say(`${name}: ${(part.to - part.from).toLocaleString('en')} generations`)
      })
      say('the indexes')
    })
    await first.query(CLEANING)
    // As autovacuum does: partitioned tables themselves are not looked at.
    const { rows: tables } = await first.query<{ name: string }>(
      `SELECT oid::regclass::text AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
        ORDER BY pg_table_size(oid) DESC`,
    )
    await inTurn(fillers, tables, async (filler, { name }) => void (await filler.query(`VACUUM ANALYZE ${name}`)))
    if (images !== undefined && file) {
      const { rows } = await first.query<{ slug: string }>('SELECT slug FROM all_images')
      let original = ''
      for (const [n, { slug }] of rows.entries()) {
        const path = join(images, `${slug}.png`)
        if (n % LINKS > 0) await link(original, path)
        else {
          original = path
          await writeFile(original, file.png)
        }
      }
    }
  } finally {
    for (const filler of fillers) await filler.end().catch(() => undefined)
    await postgres.stop()
  }
}

/** Each connection takes the next one as soon as it has done one. */
async function inTurn<Item>(
  fillers: readonly pg.Client[],
  items: readonly Item[],
  work: (filler: pg.Client, item: Item) => Promise<void>,
): Promise<void> {
  const left = items.values()
  await Promise.all(
    fillers.map(async (filler) => {
      for (const item of left) await work(filler, item)
    }),
  )
}

async function drawn(): Promise<ImageFile & { readonly png: Buffer }> {
  const png = await drawImage({ width: 832, height: 1216, key: 'history', parameters: '', look: 'finished' })
  return { png, bytes: png.length, sha256: createHash('sha256').update(png).digest('hex') }
}
