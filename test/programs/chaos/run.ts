/**
 * `npm run chaos -- --minutes M --seed S`: breaks everything there is for a while and counts what must never happen.
 * `npm run chaos -- --guards`, or `--guard PART-OF-ITS-NAME`: whether it would notice if a guard were missing.
 */
import { parseArgs } from 'node:util'
import { type ChaosReport, chaos } from './chaos.js'
import { blockedBeyond, GUARDS, withAllGuards, withoutGuard } from './guards.js'
import type { Violation } from './history.js'
import type { RedisKind } from './redis.js'
import { reportText } from './report.js'

/** From here on a failpoint that was never reached is a failure: the run has not shown what it claims. */
const ALL_FAILPOINTS_FROM_MINUTES = 10
/** A submit that died holds its lock for 15 s, and its repetition may die, too. */
const BLOCKED_MS = 31_500

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    rate: { type: 'string', default: '1' },
    users: { type: 'string', default: '40' },
    lanes: { type: 'string' },
    redis: { type: 'string', default: 'single' },
    logs: { type: 'string' },
    guards: { type: 'boolean', default: false },
    guard: { type: 'string' },
    'no-failpoints': { type: 'boolean', default: false },
  },
})
const KINDS: readonly string[] = ['single', 'sentinel', 'cluster'] satisfies RedisKind[]
function redisKind(text: string): RedisKind {
  if (!KINDS.includes(text)) throw new Error(`--redis is one of ${KINDS.join(', ')}.`)
  return text as RedisKind
}

const minutes = Number(values.minutes)
const seed = Number(values.seed)

const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => interrupted.abort())
// Started by a program that wants it to end with itself.
process.once('disconnect', () => interrupted.abort())

const guards = values.guards || values.guard !== undefined
const base = { seed, say: console.log, signal: interrupted.signal }

try {
  process.exitCode = (await (guards ? tryGuards() : runOnce())) ? 0 : 1
} catch (error) {
  console.error(interrupted.signal.aborted ? 'interrupted; everything has been stopped' : error)
  process.exitCode = 1
}
// What is left hanging (a timer, a socket) holds nobody back.
process.exit()

function unreached({ failpoints }: ChaosReport) {
  if (minutes < ALL_FAILPOINTS_FROM_MINUTES || values['no-failpoints'] || values.lanes) return []
  return [...failpoints].flatMap(([name, n]) =>
    n === 0 ? [{ invariant: 'failpoint', what: `${name} was never reached` }] : [],
  )
}

/** A long run in which no workflow was changed and drawn has not shown what it claims either. */
function undrawn({ workflows }: ChaosReport): Violation[] {
  if (minutes < ALL_FAILPOINTS_FROM_MINUTES || values.lanes || workflows.size > 1) return []
  return [{ invariant: 'workflow', what: `${workflows.size} revisions of the workflow were drawn` }]
}

/** Whether nothing was violated. */
async function runOnce(): Promise<boolean> {
  console.log(`seed ${seed}, ${minutes} minutes of faults`)
  const report = await chaos({
    ...base,
    forMs: minutes * 60_000,
    rate: Number(values.rate),
    users: Number(values.users),
    ...(values.lanes !== undefined && { lanes: values.lanes.split(',') }),
    redis: redisKind(values.redis),
    ...(values.logs !== undefined && { logs: values.logs }),
    failpoints: !values['no-failpoints'],
  })
  console.log(reportText(report))
  const found = [
    ...report.violations,
    ...blockedBeyond(BLOCKED_MS, report.heals),
    ...unreached(report),
    ...undrawn(report),
  ]
  console.log(`\n${found.length} violations with seed ${seed}`)
  for (const { invariant, what } of found) console.log(`${invariant}: ${what}`)
  return found.length === 0
}

interface Trial {
  readonly name: string
  readonly good: boolean
  readonly said: string
  readonly seconds: number
}

/** @param noticedBy which checks must find something; none: nothing may be found */
async function trial(name: string, run: Promise<Violation[]>, noticedBy: readonly string[]): Promise<Trial> {
  const since = Date.now()
  const found = await run
  for (const { invariant, what } of found.slice(0, 5)) console.log(`  ${invariant}: ${what}`)
  const all = [...new Set(found.map(({ invariant }) => invariant))]
  const rightly = all.filter((invariant) => noticedBy.includes(invariant))
  const good = noticedBy.length > 0 ? rightly.length > 0 : all.length === 0
  const said = good ? rightly.join(', ') || 'nothing' : `${noticedBy.length > 0 ? 'NOT NOTICED' : 'RED'} (${all})`
  console.log(`${name}: ${said}\n`)
  return { name, good, said, seconds: Math.round((Date.now() - since) / 1000) }
}

/** Whether the checks notice every guard that is gone, and nothing while all stand. */
async function tryGuards(): Promise<boolean> {
  const part = values.guard ?? ''
  const trials: Trial[] = []
  if (part === '') trials.push(await trial('none: all stand', withAllGuards(base), []))
  for (const guard of GUARDS.filter(({ name }) => name.includes(part))) {
    const { name, coveredBy, noticedBy } = guard
    const both = coveredBy === undefined ? name : `${name}; with it ${coveredBy}`
    trials.push(await trial(both, withoutGuard(guard, base), noticedBy))
  }
  const width = Math.max(0, ...trials.map(({ name }) => name.length))
  console.log(`Guard taken away, and what noticed, with seed ${seed}`)
  for (const { name, said, seconds } of trials) console.log(`  ${name.padEnd(width)}  ${said} (${seconds} s)`)
  const bad = trials.filter(({ good }) => !good)
  console.log(`${bad.length} of ${trials.length} not as they should be`)
  return trials.length > 0 && bad.length === 0
}
