/** Easel over a history of generations: what its tables grow to at full rate, and what people wait for while months are moved and archived. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { SEED_MODELS } from '../../../src/core/catalog/model-version.js'
import { table } from '../bench/figures.js'
import { givenKeys } from '../bench/fill.js'
import { benchDirectory, startBenchStack } from '../bench/stack.js'
import { startGpus } from '../scale/gpus.js'
import { bloat } from './bloat.js'
import { fillHistory } from './fill.js'
import { type History, historyOf, isMetered, storedId } from './history.js'
import { type Subscriber, startLoad } from './load.js'
import { type Compared, compare, comparedRows, type Maintenance, otherwiseOf } from './stretches.js'
import { indexStates, indexTable, LIVE_TABLES, TABLE_HEAD, tableRows, tableStates } from './tables.js'

export const PHASES = ['audit', 'bloat', 'move', 'archive'] as const
export type Phase = (typeof PHASES)[number]

export interface GrowthOptions {
  readonly generations: number
  readonly accounts: number
  /** How many months the generations are spread over, this one included. */
  readonly months: number
  readonly phases: readonly Phase[]
  /** How many generations are submitted and ended at full rate. */
  readonly turnover: number
  readonly renewals: number
  /** Storage parameters of the live tables, as SQL; empty: as migrations have left them. */
  readonly autovacuum: string
  readonly rounds: number
  /** Of a stretch. */
  readonly seconds: number
  /** After which a command is stopped that has not ended. */
  readonly commandSeconds: number
  readonly scripts: Readonly<Record<'server' | 'worker' | 'cli', string>>
  readonly say: (line: string) => unknown
  readonly signal: AbortSignal
}

export interface Growth {
  /** What `easel audit --full` found; undefined: it was not asked. */
  readonly violations: readonly { readonly name: string; readonly violations: number }[] | undefined
  /** How many generations ended at full rate. */
  readonly turnedOver: number
  readonly moving: Compared | undefined
  readonly archiving: Compared | undefined
}

/** How many whole months before this one are live at first, and after they were moved. */
const LIVE_MONTHS = 2
const LIVE_MONTHS_MOVED = 1
/** Newer months can't be archived. */
const KEPT_AT_LEAST = 13
const SUBSCRIBERS = 300
const BACKENDS = 4
/** A generation with all that hangs on it takes 2 KB, and what is written ahead comes on top. */
const BYTES_EACH = 4000

export async function measureGrowth(options: GrowthOptions): Promise<Growth> {
  const { signal } = options
  const closers: (() => unknown)[] = []
  const stopped = new Promise<never>((_, reject) => {
    const stop = () => reject(new Error('It was stopped.'))
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop)
  })
  const work = measured(options, closers)
  try {
    return await Promise.race([work, stopped])
  } finally {
    // What is under way fails as its Postgres goes.
    work.catch(() => undefined)
    for (const close of closers.reverse()) await close()
  }
}

async function measured(options: GrowthOptions, closers: (() => unknown)[]): Promise<Growth> {
  const { generations, months, phases, autovacuum, scripts, say, rounds, seconds, commandSeconds } = options
  const directory = await benchDirectory()
  closers.push(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }))
  const { bavail, bsize } = await statfs(directory)
  if (bavail * bsize < generations * BYTES_EACH)
    throw new Error(
      `${generations} generations need ${(generations * BYTES_EACH) / 1e9} GB of disk: free some, or take fewer.`,
    )
  const images = join(directory, 'images')
  await mkdir(images)
  const history = historyOf(options, LIVE_MONTHS)
  const begun = performance.now()
  const lap = (what: string) => say(`${((performance.now() - begun) / 1000).toFixed(0)} s: ${what}`)
  await fillHistory({
    ...{ history, directory, images: phases.includes('audit') ? images : undefined },
    ...{ say: lap, onStarted: (stop) => closers.push(stop) },
  })
  const starting = startBenchStack({}, scripts, { shared_preload_libraries: 'pg_stat_statements' }, directory)
  closers.push(async () => (await starting.catch(() => undefined))?.close())
  const stack = await starting
  const client = new pg.Client({ connectionString: stack.databaseUrl })
  client.on('error', () => undefined)
  await client.connect()
  closers.push(() => client.end().catch(() => undefined))
  if (autovacuum) for (const name of LIVE_TABLES) await client.query(`ALTER TABLE ${name} SET (${autovacuum})`)
  const { rows } = await client.query<{ bytes: number }>('SELECT pg_database_size(current_database())::float8 AS bytes')
  lap(`filled: ${((rows[0]?.bytes ?? 0) / 1e9).toFixed(2)} GB`)

  const easel = (...words: readonly string[]): Maintenance => startCommand([scripts.cli, ...words], stack.env, closers)
  const violations = phases.includes('audit') ? await audit(easel) : undefined
  if (violations) lap(`audit: ${violations.length} checks found something`)

  const indexes = new Map([['filled', await indexStates(client)]])
  const tables = async (moment: string) => {
    say(`\n${moment}:\n${table(TABLE_HEAD, tableRows(await tableStates(client)))}\n`)
    indexes.set(moment, await indexStates(client))
  }
  let turnedOver = 0
  if (phases.includes('bloat')) {
    turnedOver = await bloat({ ...options, databaseUrl: stack.databaseUrl }, client)
    await tables('after the turnover')
  }

  let moving: Compared | undefined
  let archiving: Compared | undefined
  if (phases.includes('move') || phases.includes('archive')) {
    const gpus = await startGpus({ models: SEED_MODELS.map(({ filename }) => filename), secondsPerImage: 0.1 })
    closers.push(gpus.stop)
    await stack.launch([scripts.worker], {
      INFERENCE_URL: Array.from({ length: BACKENDS }, (_, n) => gpus.urlOf(n)).join(),
    })
    const load = startLoad(stack.url, await subscribersOf(client, history))
    closers.push(load.stop)
    // At first Postgres has nothing in memory.
    await delay(seconds * 1000)
    const stretches = { rounds, seconds, commandSeconds }
    const at = (liveMonths: number) => ['maintenance', '--live-months', String(liveMonths)]
    if (phases.includes('move'))
      moving = await compare({ name: 'move', ...stretches }, load, client, (_, said) =>
        said.at(-1)?.startsWith('Moved to') ? undefined : easel(...at(LIVE_MONTHS_MOVED)),
      )
    if (phases.includes('archive')) {
      const help = await easel('maintenance', '--help').ended
      if (help.includes('--archive-months')) {
        // The oldest month at first, and in each round one more.
        archiving = await compare({ name: 'archive', ...stretches }, load, client, (round) => {
          const kept = months - 2 - round
          return kept < KEPT_AT_LEAST ? undefined : easel(...at(LIVE_MONTHS), '--archive-months', String(kept))
        })
      } else say('This build has no --archive-months: nothing is archived.')
    }
    await load.stop()
  }
  for (const compared of [moving, archiving]) if (compared) await sayCompared(compared, say)

  if (phases.includes('bloat')) {
    if (moving) await tables('after the move')
    for (const name of LIVE_TABLES) await client.query(`VACUUM ${name}`)
    await tables('after VACUUM')
    for (const name of LIVE_TABLES) await client.query(`REINDEX TABLE ${name}`)
    await tables('after REINDEX')
    say(table(...indexTable(indexes)))
  }
  return { violations, turnedOver, moving, archiving }
}

/** Runs a script over the services; what it says is kept. */
function startCommand(
  words: readonly string[],
  env: Readonly<Record<string, string>>,
  closers: (() => unknown)[],
): Maintenance {
  const child = spawn(process.execPath, words, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, ...env },
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text) => {
      said += text
    })
  const ended = once(child, 'close').then(() => said)
  const stop = () => void child.kill('SIGKILL')
  closers.push(stop)
  return { ended, stop }
}

async function audit(easel: (...words: readonly string[]) => Maintenance) {
  const said = await easel('audit', '--full', '--json').ended
  const { checks } = JSON.parse(said) as { checks: { name: string; violations: number }[] }
  return checks.filter(({ violations }) => violations > 0)
}

/** Accounts whose submits are charged, and of which each has generations in the tables of months. */
async function subscribersOf(client: pg.Client, { accounts, parts, generations }: History): Promise<Subscriber[]> {
  const numbers = [...Array(accounts).keys()].filter((a) => !isMetered(a)).slice(0, SUBSCRIBERS)
  const keys = await givenKeys(client, numbers)
  const inMonths = Math.floor((parts.at(-1)?.from ?? generations) / accounts)
  return numbers.map((account, n) => ({
    key: keys[n] as string,
    old: (random) => storedId(Math.floor(random * inMonths) * accounts + account),
  }))
}

async function sayCompared(compared: Compared, say: (line: string) => unknown) {
  const { name, busySeconds, generations, waits, said } = compared
  const rate = `${generations.toLocaleString('en')} generations in ${busySeconds.toFixed(0)} s`
  say(`\n${name}, ${rate}; it said last:\n${said.map((line) => `  ${line}`).join('\n')}`)
  say(table(['', 'nothing else', name, 'ratio', 'of the rounds', 'spread'], comparedRows(compared)))
  say(`Connections at once, by what they wait for: with nothing else ${waits.quiet}; with it ${waits.busy}`)
  const otherwise = [...otherwiseOf(compared)].map(([what, n]) => `${what} × ${n}`).join(', ')
  say(`answered otherwise: ${otherwise || 'none'}`)
}
