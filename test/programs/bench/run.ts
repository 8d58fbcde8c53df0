/**
 * `npm run bench`: Easel against a bare rival on the same libraries (rival.ts), in alternating rounds of one run. Each
 * round is a pair; the figures are medians over the rounds. docs/benchmarks.md says what each case means.
 */
import { parseArgs } from 'node:util'
import { build } from 'esbuild'
import { type Bench, CONNECTIONS, ROUNDS, SECONDS } from './bench.js'
import { benchClaims } from './claims.js'
import { benchComfyui } from './comfyui-cases.js'
import { benchEnds } from './ends.js'
import { Figures } from './figures.js'
import { type BenchUser, givenUsers } from './givens.js'
import { benchGpuCases } from './gpu-cases.js'
import { benchGrowth, growthTable } from './growth.js'
import { startLoadGenerator } from './load.js'
import { benchPages } from './pages.js'
import { benchRecovery } from './recovery.js'
import { machine, writeDocs, writeJson } from './report.js'
import { benchRequests } from './requests.js'
import { startBenchStack } from './stack.js'
import { benchStarts } from './starts.js'

const { values: flags } = parseArgs({
  options: {
    case: { type: 'string', default: '' },
    full: { type: 'boolean', default: false },
    json: { type: 'string' },
    docs: { type: 'boolean', default: false },
  },
})
const USERS = 10_000
/** How many have an active generation of the first cases'. */
const ACTIVE = 2000
const RIVAL = 'dist/rival.mjs'

// One may also ask for one of the figures of a case.
const wanted = (name: string) => name.includes(flags.case) || flags.case.includes(name)
const figures = new Figures()
console.log(`${machine()}; ${USERS} users, ${CONNECTIONS} connections, ${ROUNDS} rounds of ${SECONDS} s`)
await benchAgainstRival()
if (flags.full && wanted('claims')) await benchClaims(figures)
if (flags.full && wanted('recovery')) await benchRecovery(figures)
const growth = flags.full && wanted('growth') ? await benchGrowth() : undefined
console.log(figures.table())
if (growth) console.log(`\n${growthTable(growth)}`)
if (flags.json) await writeJson(flags.json, figures, growth)
if (flags.docs) await writeDocs(figures, growth)

async function benchAgainstRival(): Promise<void> {
  const generator = startLoadGenerator()
  const stack = await startBenchStack()
  try {
    const target = { format: 'esm', platform: 'node', target: 'node20' } as const
    await build({ entryPoints: ['test/programs/bench/rival.ts'], outfile: RIVAL, ...target })
    const rival = await stack.launch([RIVAL])
    const users = await givenUsers(stack.db, USERS)
    const [active, free] = [users.slice(0, ACTIVE), users.slice(ACTIVE)]
    const unused = [...free]
    const nextUser = () => unused.pop() as BenchUser
    const bench: Bench = { stack, rival, rivalScript: RIVAL, generator, active, free, nextUser, figures, wanted }
    await benchRequests(bench)
    await endAll(bench)
    await benchEnds(bench)
    await benchGpuCases(bench)
    await benchComfyui(bench)
    await benchPages(bench)
    await benchStarts(bench)
  } finally {
    generator.stop()
    await stack.close()
  }
}

/** Whatever is active in either system. */
async function endAll({ stack, rival }: Bench): Promise<void> {
  await stack.db.pool.query(
    `UPDATE generations SET status = 'failed', error = 'over', finished_at = now(), lease_until = NULL
      WHERE status IN ('queued', 'processing')`,
  )
  await fetch(`${rival.url}/free`, { method: 'POST' })
}
