/** `npm run failover -- --asynchronous --depose --faults crash,kill`: takes the primary away from Easel under load. */
import { parseArgs } from 'node:util'
import { postgresClient } from '../../../src/db/hosts.js'
import { auditService } from '../../../src/process/audit-service.js'
import { parseConfig } from '../../../src/process/config.js'
import { startRedis } from '../../support/redis-server.js'
import { until } from '../../support/until.js'
import { type Cluster, type Fault, findPrograms, startCluster } from './cluster.js'
import { longestGap, lostOf, seconds, startEasel } from './easel.js'
import { PATIENCE_MS, startLoad } from './load.js'
import { runTrials } from './run-trials.js'

const FAULTS: readonly Fault[] = ['switchover', 'crash', 'kill', 'hang', 'cut']
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

await runTrials(values.keep, [
  async (around) => {
    const { directory, stops } = around
    const cluster = await startCluster(programs, directory, synchronous, stops)
    const redis = await startRedis(directory)
    if (!redis) throw new Error('This needs a redis-server or valkey-server on the PATH: install one.')
    stops.push(() => redis.stop())
    const admin = postgresClient(cluster.url.replace('/easel?', '/postgres?'))
    await admin.connect()
    await admin.query('CREATE DATABASE easel')
    await admin.end()
    const env = await startEasel({ DATABASE_URL: cluster.url, REDIS_URL: redis.url }, around)
    let wrong = 0
    for (const fault of values.faults.split(',') as Fault[]) wrong += await trial(cluster, env, fault)
    return wrong
  },
])

/** @returns how many things went wrong */
async function trial(cluster: Cluster, env: Readonly<Record<string, string>>, fault: Fault): Promise<number> {
  await until(
    async () => (await cluster.state()) === (synchronous ? 'sync' : 'async'),
    'the standby to follow',
    PATIENCE_MS,
  )
  const struck = (await cluster.primary()) ?? ''
  const load = await startLoad([`http://127.0.0.1:${env.PORT}`], cluster.url)
  await load.acknowledged(ACKNOWLEDGED)
  // A Patroni that lives hands nothing over to a standby that it can't reach.
  const patroniLives = fault === 'switchover' || fault === 'crash'
  const lagged = !synchronous && !patroniLives && (await cluster.isolate(struck))
  if (lagged) await load.acknowledged(ISOLATED_FOR)
  const at = performance.now()
  const taken = async () => ![undefined, struck].includes(await cluster.primary())
  const takenOver = until(taken, 'another primary', PATIENCE_MS).then(() => performance.now() - at)
  const [takenAfter] = await Promise.all([
    takenOver,
    cluster.strike(struck, fault).then(() => (values.depose && !patroniLives ? cluster.depose(struck) : undefined)),
  ])
  await load.acknowledged(ACKNOWLEDGED)
  await load.stop()
  const primary = await cluster.primary()
  await cluster.heal(struck, fault)

  const lost = await lostOf(cluster.url, load)
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
