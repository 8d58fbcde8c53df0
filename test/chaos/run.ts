/** `npm run chaos -- --minutes M --seed S`: breaks everything there is for a while and counts what must never happen. */
import { parseArgs } from 'node:util'
import { type ChaosReport, chaos } from './chaos.js'
import { GUARDS, withAllGuards, withoutGuard } from './guards.js'
import { reportText } from './report.js'

/** From here on a failpoint that was never reached is a failure: the run has not shown what it claims. */
const ALL_FAILPOINTS_FROM_MINUTES = 10

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    rate: { type: 'string', default: '1' },
    users: { type: 'string', default: '40' },
    lanes: { type: 'string' },
    logs: { type: 'string' },
    guards: { type: 'boolean', default: false },
    'no-failpoints': { type: 'boolean', default: false },
  },
})
const minutes = Number(values.minutes)
const seed = Number(values.seed)

const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => interrupted.abort())
// Started by a program that wants it to end with itself.
process.once('disconnect', () => interrupted.abort())

const base = { seed, say: console.log, signal: interrupted.signal }

try {
  process.exitCode = (await (values.guards ? tryGuards() : runOnce())) ? 0 : 1
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

/** Whether nothing was violated. */
async function runOnce(): Promise<boolean> {
  console.log(`seed ${seed}, ${minutes} minutes of faults`)
  const report = await chaos({
    ...base,
    forMs: minutes * 60_000,
    rate: Number(values.rate),
    users: Number(values.users),
    ...(values.lanes !== undefined && { lanes: values.lanes.split(',') }),
    ...(values.logs !== undefined && { logs: values.logs }),
    failpoints: !values['no-failpoints'],
  })
  console.log(reportText(report))
  const found = [...report.violations, ...unreached(report)]
  console.log(`\n${found.length} violations with seed ${seed}`)
  for (const { invariant, what } of found) console.log(`${invariant}: ${what}`)
  return found.length === 0
}

/** Whether the checks notice every guard that is gone, and nothing while all stand. */
async function tryGuards(): Promise<boolean> {
  const standing = await chaos(withAllGuards(base))
  console.log(`all guards standing: ${standing.violations.length} violations`)
  for (const { invariant, what } of standing.violations) console.log(`  ${invariant}: ${what}`)
  let seen = 0
  for (const guard of GUARDS) {
    const { violations } = await chaos(withoutGuard(guard, base))
    if (violations.length > 0) seen++
    console.log(`without "${guard.name}": ${violations.length > 0 ? 'noticed' : 'NOT NOTICED'}`)
    for (const { invariant, what } of violations.slice(0, 3)) console.log(`  ${invariant}: ${what}`)
  }
  console.log(`\n${seen} of ${GUARDS.length} missing guards noticed`)
  return seen === GUARDS.length && standing.violations.length === 0
}
