/** `npm run failover:redis -- --kinds sentinel,cluster --faults kill,hang`: takes a master of Redis away from Easel under load. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Check } from '../../../src/db/audit/check.js'
import { startLocalPostgres } from '../../../src/local/postgres.js'
import { auditService } from '../../../src/process/audit-service.js'
import { parseConfig } from '../../../src/process/config.js'
import { NAMESPACE, queuePrefix } from '../../../src/process/namespace.js'
import { type RedisCluster, startRedisCluster } from '../../support/redis-cluster.js'
import { endNode, type RedisNode, type ReplicatedRedis } from '../../support/redis-nodes.js'
import { startRedisSentinel } from '../../support/redis-sentinel.js'
import { until } from '../../support/until.js'
import { longestGap, lostOf, seconds, startEasel } from './easel.js'
import { PATIENCE_MS, startLoad } from './load.js'
import { type Around, runTrials } from './run-trials.js'

const KINDS = ['sentinel', 'cluster'] as const
const FAULTS = ['kill', 'hang'] as const
/** Submits that are answered with 201 before the fault, and after it. */
const ACKNOWLEDGED = 60
/** The locks of what ended while a master hung are still in it. */
const HEALED_WITHIN_MS = 60_000

const { values } = parseArgs({
  options: {
    kinds: { type: 'string', default: KINDS.join(',') },
    faults: { type: 'string', default: FAULTS.join(',') },
    keep: { type: 'boolean', default: false },
  },
})

await runTrials(
  values.keep,
  (values.kinds.split(',') as (typeof KINDS)[number][]).map((kind) => (around) => trials(kind, around)),
)

/** @returns how many things went wrong */
async function trials(kind: (typeof KINDS)[number], around: Around): Promise<number> {
  const { directory, stops } = around
  const home = join(directory, 'redis')
  await mkdir(home)
  const redis = kind === 'cluster' ? await startRedisCluster(home) : await startRedisSentinel(home)
  stops.push(redis.stop)
  const postgres = await startLocalPostgres({ dataDir: join(directory, 'postgres'), database: 'easel' })
  stops.push(postgres.stop)
  const env = await startEasel({ DATABASE_URL: postgres.url, REDIS_URL: redis.url }, around)
  let wrong = 0
  for (const fault of values.faults.split(',') as (typeof FAULTS)[number][])
    wrong += await trial(`${kind}, ${fault}`, redis, env, fault)
  return wrong
}

/** The master of the queue, which in a cluster every generation needs. */
async function struckOf(redis: ReplicatedRedis | RedisCluster): Promise<RedisNode> {
  if ('masterOf' in redis) return redis.masterOf(queuePrefix(NAMESPACE))
  const [master] = await redis.masters()
  return master as RedisNode
}

/** What the audit still finds when the reconciler has had its time. */
async function leftOver(env: Readonly<Record<string, string>>): Promise<Check[]> {
  for (const end = Date.now() + HEALED_WITHIN_MS; ; await delay(1000)) {
    const checks = await auditService(parseConfig(env), { sample: undefined })
    const found = checks.filter(({ violations }) => violations > 0)
    if (found.length === 0 || Date.now() > end) return found
  }
}

async function trial(
  what: string,
  redis: ReplicatedRedis,
  env: Readonly<Record<string, string>>,
  fault: (typeof FAULTS)[number],
): Promise<number> {
  await redis.whole()
  const load = await startLoad([`http://127.0.0.1:${env.PORT}`], env.DATABASE_URL as string)
  await load.acknowledged(ACKNOWLEDGED)
  const struck = await struckOf(redis)
  const at = performance.now()
  if (fault === 'kill') await endNode(struck)
  else struck.process.kill('SIGSTOP')
  const taken = async () => !(await redis.masters()).some(({ port }) => port === struck.port)
  await until(() => taken().catch(() => false), 'another master', PATIENCE_MS)
  const takenAfter = performance.now() - at
  await load.acknowledged(ACKNOWLEDGED)
  if (fault === 'kill') await redis.restart(struck)
  else struck.process.kill('SIGCONT')
  await load.stop()

  const lost = await lostOf(env.DATABASE_URL as string, load)
  await redis.whole()
  const refusals = JSON.stringify(Object.fromEntries(load.refusals))
  const refused = seconds(longestGap(load.acknowledgedAt, at))
  console.log(
    `${what}: another master after ${seconds(takenAfter)}, no submit acknowledged for ${refused}, ` +
      `${load.submitted.size} generations acknowledged, refusals ${refusals}`,
  )
  for (const [name, ids] of Object.entries(lost)) console.log(`  ${name}: ${ids.length}`)
  const found = await leftOver(env)
  for (const { name, violations, examples } of found)
    console.log(`  audit: ${name} ${violations}, such as ${examples.slice(0, 5)}`)
  return Object.values(lost).flat().length + found.length
}
