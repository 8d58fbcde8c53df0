/** One run: load without pause, faults for a while, then time to heal, then every check there is. */
import { existsSync, readFileSync } from 'node:fs'
import { copyFile, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Seeded, seeded } from '../../support/seeded.js'
import { blockedTimes, watchRefusals } from './blocked.js'
import { type ChaosClient, chaosClient } from './client.js'
import { FAILPOINTS } from './failpoint.js'
import { drawFailpoints } from './failpoint-draw.js'
import { startFaults } from './faults.js'
import { healTimes, type Spread, spreadOf, wastedRuns } from './figures.js'
import { untilQuiet } from './final-checks.js'
import type { Exchange, Violation } from './history.js'
import { startLoad } from './load.js'
import { type Observer, observer } from './observer.js'
import { startActs } from './operators.js'
import { startPayers } from './payers.js'
import { passPeriods } from './periods.js'
import { watchRecoveries } from './recoveries.js'
import type { RedisKind } from './redis.js'
import { scheduleOf } from './schedule.js'
import { readRedis } from './secrets.js'
import { CANARY, DEADLINE_SECONDS, MISSING_MODEL, SECRET, type Stage, startStage } from './stage.js'
import { resumeStopped } from './stopped.js'
import { verdict } from './verdict.js'
import { startVisits } from './visitors.js'
import { windows } from './windows.js'

export interface ChaosOptions {
  readonly seed: number
  /** How long faults are injected. */
  readonly forMs: number
  readonly users?: number
  /** How many times as dense as usual the faults are; 0 for none. */
  readonly rate?: number
  /** Which lanes of the schedule take part; all unless given. */
  readonly lanes?: readonly string[]
  readonly failpoints?: boolean
  /** One server unless given. */
  readonly redis?: RedisKind
  /** Of every server and worker, beside what the stage gives them. */
  readonly env?: Readonly<Record<string, string>>
  /** What each start of a process gets as FAILPOINTS; drawn from all of them unless given. */
  readonly drawFailpoints?: (chance: Seeded) => string
  /** For how long a process that a failpoint stopped stays so: at least and at most. */
  readonly stoppedForMs?: readonly [number, number]
  /** False where nothing is away for so long that a generation could miss its deadline. */
  readonly mayExpire?: boolean
  /** How long everything has to heal. */
  readonly healMs?: number
  /** The share of submits that come twice at once. */
  readonly doubles?: number
  /** Spoils something before the load begins, to see whether the checks notice. */
  readonly sabotage?: (stage: Stage) => Promise<void>
  /** Where the processes' logs are copied to at the end. */
  readonly logs?: string
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

export interface ChaosReport {
  readonly seed: number
  readonly violations: readonly Violation[]
  readonly faults: ReadonlyMap<string, number>
  readonly failpoints: ReadonlyMap<string, number>
  readonly answers: ReadonlyMap<string, number>
  readonly generations: ReadonlyMap<string, number>
  readonly internalErrors: ReadonlyMap<string, number>
  readonly availability: { readonly asked: number; readonly answered: number; readonly excused: number }
  readonly heals: Readonly<Record<'worker' | 'redis' | 'postgres' | 'blocked' | 'end', Spread>>
  readonly runs: number
  readonly wasted: number
  /** Generations that were drawn with a workflow, by its revision. */
  readonly workflows: ReadonlyMap<string, number>
  /** At Stripe, and what Easel was told of it. */
  readonly payments: ReadonlyMap<string, number>
  readonly kills: number
  /** How processes ended that nobody had told to, by what they said last. */
  readonly unexpectedEnds: ReadonlyMap<string, number>
}

interface Phase {
  faulty: boolean
  stopFaults: () => Promise<void>
}

/** From here on there is time for generations that only end at their deadline. */
const LONG_MS = 300_000
/** Leases, retries and the deadline, with room. */
const HEAL_MS = (DEADLINE_SECONDS + 20) * 1000
const TOLD_EVERY_MS = 15_000

export async function chaos(options: ChaosOptions): Promise<ChaosReport> {
  const { seed, users = 40, rate = 1, signal } = options
  const chance = seeded(seed)
  const spans = windows()
  const seen = observer(spans)
  const phase: Phase = { faulty: rate > 0, stopFaults: async () => undefined }
  const stage = await startStage({
    ...{ chance, users, windows: spans, onKilled: seen.killed, onUnexpectedEnd: seen.endedByItself },
    redis: options.redis ?? 'single',
    env: options.env ?? {},
    faulty: () => phase.faulty,
    failpoints: (its) =>
      phase.faulty && options.failpoints !== false ? (options.drawFailpoints ?? drawFailpoints)(its) : undefined,
  })
  try {
    signal.throwIfAborted()
    const interrupted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
    return await Promise.race([runOn(stage, options, chance, seen, phase), interrupted])
  } finally {
    // A fault in progress would start again what is being stopped.
    await phase.stopFaults()
    seen.end()
    if (options.logs !== undefined) await copyLogs(stage.directory, options.logs)
    await stage.close()
  }
}

async function runOn(
  stage: Stage,
  options: ChaosOptions,
  chance: Seeded,
  seen: Observer,
  phase: Phase,
): Promise<ChaosReport> {
  const { servers, workers, redis, gpus } = stage
  const { healMs = HEAL_MS, mayExpire = true, say, seed } = options
  const recoveries = watchRecoveries(redis)
  const refusals = watchRefusals()
  const client = openClient(stage, chance.fork('balance'), (exchange) => {
    recoveries.noteAnswer(exchange)
    refusals.note(exchange)
    seen.note(exchange)
  })
  const watched = resumeStopped([...servers, ...workers], chance.fork('stopped'), options.stoppedForMs, seen.fault)
  gpus.onRun = ({ kind, gpu }) => {
    if (kind !== 'poison' || !phase.faulty) return
    seen.fault('worker.poison')
    workers[gpu]?.kill()
  }
  try {
    await options.sabotage?.(stage)
    const load = startLoad({
      ...{ client, users: stage.users, chance: chance.fork('load'), canary: CANARY, models: stage.models },
      doubles: options.doubles ?? 0.03,
      hopeless: () => phase.faulty,
      missingModel: options.forMs >= LONG_MS ? MISSING_MODEL : undefined,
    })
    const visits = startVisits({
      ...{ client, visitors: stage.visitors, chance: chance.fork('visits'), canary: CANARY },
      model: stage.models[0] as number,
    })
    const acting = startActs({
      ...{ client, operator: stage.operator, chance: chance.fork('acts') },
      unused: stage.unusedFile,
    })
    const paying = startPayers({
      ...{ client, till: stage.till, payers: stage.payers, chance: chance.fork('payments') },
      urls: () => ready(stage),
    })
    const periods = passPeriods(chance.fork('periods'), stage.connect)
    await breakThings(stage, options, chance.fork('faults'), seen, phase, recoveries)
    await periods.stop()
    phase.faulty = false
    const healing = Date.now()
    await startAfresh(stage)
    const calm = Date.now()
    await delay(2000)
    const stopped = Promise.all([load.stop(), visits.stop(), acting.stop(), paying.stop()])
    const postgres = await stage.connect()
    if (!(await untilQuiet(postgres, healMs))) say('some generations are still active')
    await postgres.end()
    const healed = Date.now() - healing
    await stopped

    const { linedUp, images } = visits
    say(
      `checking what is left, also of ${linedUp.length} ideas that were lined up and ${images.size} images of visitors`,
    )
    const judging = { healMs, mayExpire, calm, acts: acting.acts, bought: paying.bought, linedUp, images }
    const { violations, internals, generations, workflows } = await verdict(stage, client, seen, judging)
    const reader = await stage.connect()
    const blocked = await blockedTimes(reader, refusals.submits)
    await reader.end()
    const succeeded = new Set(generations.flatMap(({ status, tag }) => (status === 'succeeded' ? [tag] : [])))
    return {
      ...{
        seed,
        violations,
        faults: seen.faults,
        answers: new Map([...seen.checker.counts, ...stage.receiver.answers]),
        internalErrors: tally(internals),
      },
      ...{ availability: seen.availability, kills: seen.kills(), unexpectedEnds: seen.unexpectedEnds },
      workflows: tally(workflows),
      payments: new Map(Object.entries(paying.counts())),
      ...{ runs: gpus.runs.length, wasted: wastedRuns(gpus.runs, succeeded) },
      failpoints: reached(stage.failpointsLog),
      generations: tally(generations.map(({ status, error }) => (error ? `${status}: ${error}` : status))),
      heals: {
        worker: spreadOf(healTimes(gpus.runs, seen.deaths)),
        redis: spreadOf(recoveries.redis),
        postgres: spreadOf(recoveries.postgres),
        blocked: spreadOf(blocked),
        end: spreadOf([healed]),
      },
    }
  } finally {
    watched.stop()
    recoveries.stop()
    await client.close()
  }
}

/** Of the servers that are up; of all, if none is. */
function ready({ servers, serverUrls }: Stage): readonly string[] {
  const up = serverUrls.filter((_, i) => servers[i]?.ready)
  return up.length > 0 ? up : serverUrls
}

function openClient({ servers, serverUrls }: Stage, balance: Seeded, note: (exchange: Exchange) => void): ChaosClient {
  const targets = servers.map((server, i) => ({
    name: server.name,
    url: serverUrls[i] as string,
    get ready() {
      return server.ready
    },
  }))
  return chaosClient(targets, balance.next, note)
}

/** Injects what is scheduled, and says now and then how far things are. */
async function breakThings(
  stage: Stage,
  { seed, forMs, rate = 1, lanes, say }: ChaosOptions,
  chance: Seeded,
  seen: Observer,
  phase: Phase,
  recoveries: ReturnType<typeof watchRecoveries>,
): Promise<void> {
  const schedule = rate > 0 ? scheduleOf(seed, forMs, rate, lanes) : []
  if (schedule.some(({ kind }) => kind === 'postgres.failover')) await stage.postgres.replicate()
  const faults = startFaults(schedule, stage, {
    chance,
    onInjected: seen.fault,
    onRedisBack: recoveries.redisIsBack,
    onPostgresBack: recoveries.postgresIsBack,
    onError: (kind, error) => say(`the fault ${kind} itself failed: ${error}`),
  })
  phase.stopFaults = faults.stop
  const begun = Date.now()
  let told = 0
  for (let end = begun + forMs; Date.now() < end; ) {
    await delay(Math.min(TOLD_EVERY_MS, end - Date.now()))
    // What Redis holds in the middle of things; while it is away there is nothing to see.
    seen.violations.push(...(await readRedis(stage.redis.url(), SECRET).catch(() => [])))
    const good = [...seen.checker.counts].filter(([what]) => / 20[01]$/.test(what)).map(([what, n]) => `${what}: ${n}`)
    const found = [...seen.violations, ...seen.checker.violations]
    say(`${Math.round((Date.now() - begun) / 1000)} s: ${good.join(', ')}; ${found.length} violations`)
    // At once: whoever stops the run now has them all the same.
    if (found.length > told) for (const { invariant, what } of found.slice(-20)) say(`  ${invariant}: ${what}`)
    told = found.length
  }
  await faults.stop()
}

/** Processes that have failpoints end, and come back without. */
async function startAfresh({ servers, workers }: Stage): Promise<void> {
  const all = [...servers, ...workers]
  for (const each of all) each.resume()
  await Promise.all(all.map((each) => each.restart()))
}

async function copyLogs(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true })
  for (const name of await readdir(from)) if (name.endsWith('.log')) await copyFile(join(from, name), join(to, name))
}

function reached(log: string): Map<string, number> {
  const counts = tally(existsSync(log) ? readFileSync(log, 'utf8').split('\n').filter(Boolean) : [])
  return new Map(FAILPOINTS.map((name) => [name, counts.get(name) ?? 0]))
}

function tally(of: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const each of of) counts.set(each, (counts.get(each) ?? 0) + 1)
  return counts
}
