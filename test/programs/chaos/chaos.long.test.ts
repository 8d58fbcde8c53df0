import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../../support/compile.js'
import { seedOf } from '../../support/effort.js'
import { redisAvailable } from '../../support/services.js'

const SEED = seedOf(11)
/** Some seconds of faults, the time to heal, and what it takes to start and to check. */
const ARGUMENTS = ['--minutes', '0.25', '--seed', String(SEED), '--users', '8', '--rate', '1']

describe.skipIf(!redisAvailable)('a short chaos run', () => {
  it(`breaks no promise (seed ${SEED})`, { timeout: 480_000 }, async () => {
    const run = spawn(process.execPath, ['--import', 'tsx', 'test/programs/chaos/run.ts', ...ARGUMENTS], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    let said = ''
    for (const stream of [run.stdout, run.stderr]) stream?.on('data', (data) => (said += data))
    const [code] = await once(run, 'exit')
    expect(code, said).toBe(0)
    expect(said).toMatch(/\n0 violations with seed /)
  })
})
