/** `npm run failover -- --asynchronous --depose --faults crash,kill`: takes the primary away from Easel under load. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createDatabase, type Database } from '../../../src/db/client.js'
import { postgresClient } from '../../../src/db/hosts.js'
import { migrateDatabase } from '../../../src/db/migrations/migrate.js'
import { parseConfig } from '../../../src/process/config.js'
import { auditService } from '../../../src/process/audit-service.js'
import { freePort } from '../../support/free-port.js'
import { startRedis } from '../../support/redis-server.js'
import { until } from '../../support/until.js'
import { untilQuiet } from '../chaos/final-checks.js'
import { type Cluster, type Fault, findPrograms, startCluster } from './cluster.js'
import { type Answered, startLoad } from './load.js'

const FAULTS: readonly Fault[] = ['switchover', 'crash', 'kill', 'hang', 'cut']
const PATIENCE_MS = 120_000
/** Submits that are answered with 201 before the fault, and after it. */
const ACKNOWLEDGED = 60
/** How long an asynchronous standby gets nothing before the fault. */
const ISOLATED_FOR = 20

const { values } = parseArgs({
  options: {
    asynchronous: { type: 'boolean', default: false },
    faults: { type: 'string', default: FAULTS.join(',') },
    depose: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
})
const synchronous = !values.asynchronous
const programs = findPrograms()
const directory = await mkdtemp(join(tmpdir(), 'easel-failover-'))
await chmod(directory, 0o755)
const stops: (() => Promise<unknown>)[] = []
const stopAll = async () => {
  for (const stop of stops.splice(0).reverse()) await stop().catch(console.error)
  if (values.keep) console.log(`The logs are in ${directory}`)
  else await rm(directory, { recursive: true, force: true })
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => void stopAll().then(() => process.exit(1)))

try {
  const cluster = await startCluster(programs, directory, synchronous, stops)
  const env = await startEasel(cluster)
  let wrong = 0
  for (const fault of values.faults.split(',') as Fault[]) wrong += await trial(cluster, env, fault)
  process.exitCode = wrong > 0 ? 1 : 0
} catch (error) {
  console.error(error)
  process.exitCode = 1
} finally {
  await stopAll()
}
process.exit()

/** Easel's server and worker, as they are started. */
async function startEasel(cluster: Cluster): Promise<Readonly<Record<string, string>>> {
  const admin = postgresClient(cluster.url.replace('/easel?', '/postgres?'))
  await admin.connect()
  await admin.query('CREATE DATABASE easel')
  await admin.end()
  await migrateDatabase(cluster.url)
  const redis = await startRedis(directory)
  if (!redis) throw new Error('This needs a redis-server or valkey-server on the PATH: install one.')
  stops.push(() => redis.stop())
  const port = String(await freePort())
  const env = {
    ...{ DATABASE_URL: cluster.url, REDIS_URL: redis.url, STORAGE_URL: `file:${directory}/images`, PORT: port },
    ...{ RATE_LIMIT_MAX: '1000000', INFERENCE_URL: 'preview:', SMTP_URL: 'smtp://127.0.0.1:1', LOG_LEVEL: 'warn' },
  }
  for (const script of ['src/server.ts', 'src/worker.ts']) {
    const child = spawn(process.execPath, ['--import', 'tsx', script], {
      stdio: ['ignore', values.keep ? 'inherit' : 'ignore', 'inherit'],
      env: { PATH: process.env.PATH, ...env },
    })
    const ended = once(child, 'exit')
    stops.push(async () => {
      child.kill('SIGKILL')
      await ended
    })
  }
  const ready = () =>
    fetch(`http://127.0.0.1:${port}/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
  await until(ready, 'the server to be ready', PATIENCE_MS)
  return env
}

/** @returns how many things went wrong */
async function trial(cluster: Cluster, env: Readonly<Record<string, string>>, fault: Fault): Promise<number> {
  await until(
    async () => (await cluster.state()) === (synchronous ? 'sync' : 'async'),
    'the standby to follow',
    PATIENCE_MS,
  )
  const struck = (await cluster.primary()) ?? ''
  const load = await startLoad([`http://127.0.0.1:${env.PORT}`], cluster.url)
  const acknowledged = (more: number) => {
    const before = load.acknowledgedAt.length
    return until(() => load.acknowledgedAt.length >= before + more, `${more} submits`, PATIENCE_MS)
  }
  await acknowledged(ACKNOWLEDGED)
  // A Patroni that lives hands nothing over to a standby that it can't reach.
  const patroniLives = fault === 'switchover' || fault === 'crash'
  const lagged = !synchronous && !patroniLives && (await cluster.isolate(struck))
  if (lagged) await acknowledged(ISOLATED_FOR)
  const at = performance.now()
  const taken = async () => ![undefined, struck].includes(await cluster.primary())
  const takenOver = until(taken, 'another primary', PATIENCE_MS).then(() => performance.now() - at)
  const [takenAfter] = await Promise.all([
    takenOver,
    cluster.strike(struck, fault).then(() => (values.depose && !patroniLives ? cluster.depose(struck) : undefined)),
  ])
  await acknowledged(ACKNOWLEDGED)
  await load.stop()
  const primary = await cluster.primary()
  await cluster.heal(struck, fault)

  const db = createDatabase(cluster.url, { maxConnections: 1, onError: () => undefined })
  const client = await db.pool.connect()
  await untilQuiet(client, 60_000)
  client.release()
  const lost = await lostOf(db, load)
  await db.pool.end()
  const refused = longestGap(load.acknowledgedAt, at)
  console.log(
    `${synchronous ? 'synchronous' : 'asynchronous'}, ${fault}: ${struck} → ${primary} after ${seconds(takenAfter)}, no submit acknowledged for ${seconds(refused)}, ` +
      `${load.submitted.size} generations and ${load.granted.size} grants acknowledged, ` +
      `refusals ${JSON.stringify(Object.fromEntries(load.refusals))}`,
  )
  for (const [what, ids] of Object.entries(lost))
    console.log(`  ${what}: ${ids.length}${ids.length ? ` (${ids.slice(0, 5)} …)` : ''}`)
  const checks = await auditService(parseConfig(env), { sample: undefined })
  const found = checks.filter(({ violations }) => violations > 0)
  for (const { name, violations, examples } of found)
    console.log(`  audit: ${name} ${violations}, such as ${examples.slice(0, 5)}`)
  if (synchronous) return Object.values(lost).flat().length + found.length
  const named = new Set(found.flatMap(({ examples }) => examples))
  const unnamed = lost['generations lost'].filter((id) => !named.has(id))
  console.log(`  lost generations that the audit does not name: ${unnamed.length}`)
  return unnamed.length
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}

/** What was answered and is not in the database of the new primary. */
async function lostOf({ pool }: Database, answered: Answered) {
  const ids = async (text: string, values: readonly string[]) =>
    (await pool.query<{ id: string }>(text, [values])).rows.map(({ id }) => id)
  return {
    'generations lost': await ids(
      'SELECT id FROM unnest($1::text[]) id WHERE NOT EXISTS (SELECT FROM generations g WHERE g.id = id.id)',
      [...answered.submitted.keys()],
    ),
    'successes lost': await ids(
      `SELECT id FROM unnest($1::text[]) id
        WHERE NOT EXISTS (SELECT FROM generations g WHERE g.id = id.id AND g.status = 'succeeded')`,
      [...answered.succeeded],
    ),
    'grants lost': await ids(
      'SELECT id FROM unnest($1::text[]) id WHERE NOT EXISTS (SELECT FROM credit_ledger l WHERE l.ref = id.id)',
      [...answered.granted.keys()],
    ),
  }
}

/** ms: the longest time without an acknowledged submit that ended after the fault. */
function longestGap(times: readonly number[], fault: number): number {
  const gaps = times.map((time, n) => (time > fault ? time - (times[n - 1] ?? fault) : 0))
  return Math.max(...gaps)
}
