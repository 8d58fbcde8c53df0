/** `npm run growth`: what a history of generations does to Easel. README.md says how to read it. */
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { machine } from '../bench/report.js'
import { measureGrowth, PHASES, type Phase } from './growth.js'

const { values: flags } = parseArgs({
  options: {
    generations: { type: 'string', default: '100000' },
    accounts: { type: 'string' },
    months: { type: 'string', default: '26' },
    phases: { type: 'string', default: 'bloat,move,archive' },
    turnover: { type: 'string', default: '10000' },
    renewals: { type: 'string', default: '3' },
    autovacuum: { type: 'string', default: '' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
    'command-seconds': { type: 'string' },
    built: { type: 'string', default: 'dist' },
  },
})
function phase(text: string): Phase {
  if (!(PHASES as readonly string[]).includes(text)) throw new Error(`--phases are some of ${PHASES.join(', ')}.`)
  return text as Phase
}

const interrupted = new AbortController()
// A second one must not end it before all is removed.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interrupted.abort())

const generations = Number(flags.generations)
try {
  await measureGrowth({
    ...{ generations, accounts: Number(flags.accounts ?? Math.ceil(generations / 100)) },
    months: Number(flags.months),
    ...{ phases: flags.phases.split(',').filter(Boolean).map(phase), autovacuum: flags.autovacuum },
    ...{ turnover: Number(flags.turnover), renewals: Number(flags.renewals) },
    ...{ rounds: Number(flags.rounds), seconds: Number(flags.seconds) },
    commandSeconds: Number(flags['command-seconds'] ?? flags.seconds),
    scripts: { server: `${flags.built}/server.js`, worker: `${flags.built}/worker.js`, cli: `${flags.built}/cli.js` },
    ...{ say: console.log, signal: interrupted.signal },
  })
  console.log(`\n${machine()}; ${generations.toLocaleString('en')} generations, load ${loadavg()[0]?.toFixed(1)}`)
} catch (error) {
  console.error(interrupted.signal.aborted ? 'Stopped; everything was removed.' : error)
  process.exitCode = 1
}
// What is left hanging holds nobody back.
process.exit()
