/** `npm run scale`: how many GPU servers one Postgres and one Redis carry. README.md says how to read it. */
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { table } from '../bench/figures.js'
import { machine } from '../bench/report.js'
import { type Measured, simulate } from './simulation.js'

const { values: flags } = parseArgs({
  options: {
    backends: { type: 'string', default: '100,300,1000' },
    'seconds-per-image': { type: 'string', default: '8' },
    waiting: { type: 'string', default: '100000' },
    followers: { type: 'string', default: '10000' },
    seconds: { type: 'string', default: '60' },
    'backends-per-worker': { type: 'string', default: '100' },
    built: { type: 'string', default: 'dist' },
    statements: { type: 'boolean', default: false },
  },
})
const list = (text: string) => text.split(',').map(Number)

const ROWS: readonly (readonly [string, (measured: Measured) => string])[] = [
  ['backends busy', ({ busy }) => `${(busy * 100).toFixed(1)} %`],
  ['claims/s', ({ claimsPerSecond }) => claimsPerSecond.toFixed(1)],
  ['ends/s', ({ endsPerSecond }) => endsPerSecond.toFixed(1)],
  ['CPU ms per image: servers', ({ cpu }) => cpu.servers.toFixed(2)],
  ['CPU ms per image: workers', ({ cpu }) => cpu.workers.toFixed(2)],
  ['CPU ms per image: Postgres', ({ cpu }) => cpu.postgres.toFixed(2)],
  ['CPU ms per image: Redis', ({ cpu }) => cpu.redis.toFixed(2)],
  ['commits/s', ({ commitsPerSecond }) => commitsPerSecond.toFixed(0)],
  ['WAL bytes per image', ({ walBytesPerImage }) => walBytesPerImage.toFixed(0)],
  ['notices/s', ({ noticesPerSecond }) => noticesPerSecond.toFixed(0)],
  ['oldest heartbeat, s', ({ oldestHeartbeat }) => oldestHeartbeat.toFixed(2)],
  ['leases lost', ({ leasesLost }) => String(leasesLost)],
  ['put back', ({ putBacks }) => JSON.stringify(putBacks).replaceAll(/[{}"]/g, '') || '0'],
  ['connections to Postgres', ({ connections, listeners }) => `${connections} + ${listeners}`],
  ['waits for locks', ({ waits }) => `${(shareOf(waits, /^Lock/) * 100).toFixed(0)} %`],
  ['waits for the disk', ({ waits }) => `${(shareOf(waits, /^IO|WALWrite/) * 100).toFixed(0)} %`],
  ['followers open, ended, broken', ({ followings: f }) => (f ? `${f.open}, ${f.ended}, ${f.broken}` : '')],
]

const shareOf = (waits: Measured['waits'], kind: RegExp): number =>
  waits.filter(([what]) => kind.test(what)).reduce((sum, [, share]) => sum + share, 0)

const heads: string[] = []
const columns: Measured[] = []
for (const secondsPerImage of list(flags['seconds-per-image']))
  for (const backends of list(flags.backends)) {
    const measured = await simulate({
      ...{ backends, secondsPerImage, built: flags.built },
      ...{ waiting: Number(flags.waiting), followers: Number(flags.followers), seconds: Number(flags.seconds) },
      backendsPerWorker: Number(flags['backends-per-worker']),
    })
    heads.push(`${backends} × ${secondsPerImage} s`)
    columns.push(measured)
    console.log(`${heads.at(-1)}, load ${loadavg()[0]?.toFixed(1)}`)
    console.log(
      `  waits: ${measured.waits
        .slice(0, 8)
        .map(([what, share]) => `${what} ${(share * 100).toFixed(0)} %`)
        .join(', ')}`,
    )
    for (const { name, calls, ms } of flags.statements ? measured.statements : [])
      console.log(`  ${ms.toFixed(0)} ms in ${calls} calls: ${name}`)
    console.log(
      table(
        ['', heads.at(-1) as string],
        ROWS.map(([name, shown]) => [name, shown(measured)]),
      ),
    )
  }
console.log(`\n${machine()}; ${flags.waiting} waiting, ${flags.followers} followers, ${flags.seconds} s measured`)
console.log(
  table(
    ['', ...heads],
    ROWS.map(([name, shown]) => [name, ...columns.map(shown)]),
  ),
)
