import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { compiled } from '../../support/services.js'
import { armed, type Failpoint, SWITCHABLE_GUARDS, switchedOff } from './failpoint.js'

const directory = mkdtempSync(join(tmpdir(), 'easel-failpoint-'))
afterAll(() => rmSync(directory, { recursive: true }))

const BOTH = 'run.after_claim=throw@0.5,run.after_put=throw@0.5'

/** Which passages of these places, one after the other, an armed process did not survive. */
async function passages(env: Record<string, string>, names: readonly Failpoint[]): Promise<boolean[]> {
  const act = armed(env)
  const acted: boolean[] = []
  for (const name of names) {
    acted.push(
      await Promise.resolve(act(name)).then(
        () => false,
        () => true,
      ),
    )
  }
  return acted
}
const times = (n: number, ...names: Failpoint[]) => Array.from({ length: n }, () => names).flat()

describe('a failpoint', () => {
  it('does nothing unless a variable names it', () => {
    expect(armed({})('run.after_claim')).toBeUndefined()
    expect(armed({ FAILPOINTS_SEED: '1' })('run.after_claim')).toBeUndefined()
  })

  it('acts at its place only, as often as its probability says', async () => {
    const acted = await passages({ FAILPOINTS: BOTH, FAILPOINTS_SEED: '5' }, times(2000, 'run.after_claim'))
    const share = acted.filter(Boolean).length / acted.length
    expect(share).toBeGreaterThan(0.45)
    expect(share).toBeLessThan(0.55)
    expect(await passages({ FAILPOINTS: BOTH }, times(50, 'run.after_infer'))).not.toContain(true)
    expect(await passages({ FAILPOINTS: 'run.after_claim=throw@1' }, times(50, 'run.after_claim'))).not.toContain(false)
    expect(await passages({ FAILPOINTS: 'run.after_claim=throw@0' }, times(50, 'run.after_claim'))).not.toContain(true)
  })

  it('writes its name into the log before it acts', async () => {
    const log = join(directory, 'log')
    await passages({ FAILPOINTS: 'run.after_put=throw@1', FAILPOINTS_LOG: log }, ['run.after_put', 'run.after_infer'])
    expect(readFileSync(log, 'utf8')).toBe('run.after_put\n')
  })

  it('pauses for as long as it is told', async () => {
    const act = armed({ FAILPOINTS: 'run.after_put=delay:60@1' })
    const ended: string[] = []
    const note = (what: string) => () => ended.push(what)
    // Timers fire in the order of their times, however late.
    await Promise.all([
      delay(80).then(note('80 ms')),
      act('run.after_put')?.then(note('pause')),
      delay(1).then(note('1 ms')),
    ])
    expect(ended).toEqual(['1 ms', 'pause', '80 ms'])
  })

  it.each(['run.after_lunch=kill@0.5', 'run.after_put=explode@0.5', 'run.after_put=kill', 'run.after_put=delay@0.5'])(
    'refuses to start with %s',
    (entry) => {
      expect(() => armed({ FAILPOINTS: entry })).toThrow(/FAILPOINTS has no/)
    },
  )
})

describe('an armed process', () => {
  const run = (code: string, env: Record<string, string>) =>
    spawnSync(process.execPath, ['--input-type=module', '--eval', code], {
      env: { PATH: process.env.PATH, ...env },
      encoding: 'utf8',
    })

  it('is killed at the place that FAILPOINTS names', async () => {
    const code = `import { armed } from '${await compiled('test/programs/chaos/failpoint.ts')}'
      const failpoint = armed(process.env)
      await failpoint('run.after_infer'); console.log('alive'); await failpoint('run.after_put'); console.log('still')`
    const { signal, stdout } = run(code, { FAILPOINTS: 'run.after_put=kill@1' })
    expect({ signal, stdout }).toEqual({ signal: 'SIGKILL', stdout: 'alive\n' })
  })
})

describe('a seed', () => {
  const passed = times(64, 'run.after_claim')
  const withSeed = (seed: string) => passages({ FAILPOINTS: BOTH, FAILPOINTS_SEED: seed }, passed)

  it('makes the same passages act in each run, and another seed others', async () => {
    expect(await withSeed('7')).toEqual(await withSeed('7'))
    expect(await withSeed('7')).not.toEqual(await withSeed('8'))
  })

  it('draws for each place by itself, whatever other places are passed in between', async () => {
    const mixed = await passages(
      { FAILPOINTS: BOTH, FAILPOINTS_SEED: '7' },
      times(64, 'run.after_put', 'run.after_claim'),
    )
    const [put, claim] = [0, 1].map((place) => mixed.filter((_, i) => i % 2 === place))
    expect(claim).toEqual(await withSeed('7'))
    expect(put).not.toEqual(claim)
  })

  it('is random if none is given', async () => {
    const drawn = () => passages({ FAILPOINTS: BOTH }, passed)
    expect(await drawn()).not.toEqual(await drawn())
  })

  it('must be a whole number', () => {
    expect(() => armed({ FAILPOINTS: BOTH, FAILPOINTS_SEED: 'x' })).toThrow(/FAILPOINTS_SEED must be a whole number/)
  })
})

describe('a guard', () => {
  it('is on unless a variable names it', () => {
    const off = switchedOff({})
    for (const name of SWITCHABLE_GUARDS) expect([name, off(name)]).toEqual([name, false])
  })

  it('is off if a variable names it, while the others are on', () => {
    const off = switchedOff({ GUARDS_OFF: 'lock.verify,reconcile.enqueue' })
    expect(SWITCHABLE_GUARDS.filter(off)).toEqual(['lock.verify', 'reconcile.enqueue'])
  })

  it('cannot be switched off by a name that no guard has', () => {
    expect(() => switchedOff({ GUARDS_OFF: 'lock.verify,lock.key' })).toThrow('no guard "lock.key"')
  })
})
