import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { reconcile } from '../../../src/core/generations/repair/reconcile.js'
import { effort, seedOf } from '../../support/effort.js'
import { until } from '../../support/until.js'
import { type Crash, deathsIn, inTurns, rehearse, start, startAndDie, startPass } from './crash.js'
import { givenDebris, givenDebrisUsers } from './crash-debris.js'
import { type Flow, givenScene, LONG_TIER_FLOWS, RUNS, type Scene, SUBMITS } from './crash-flows.js'
import { cancelActive, expectFreeAtOnce, expectPutRight, wake } from './crash-repair.js'
import { openStage, type Stage } from './crash-stage.js'
import type { Death, Way } from './mortal.js'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage.close())

const LONG = { timeout: 120_000 * effort }
const SEED = seedOf(41)
const FULL = { full: true, trustLeases: true }
const aSubmit = SUBMITS['a submit'] as Flow
const aRun = RUNS['a run'] as Flow

describe.each(LONG_TIER_FLOWS)('%s', (_name, flow) => {
  it('can be cut off before and after each of its effects, and what it leaves behind is put right', LONG, async () => {
    const effects = await rehearse(stage, flow)
    await expectPutRight(stage, await inTurns(deathsIn(effects), (death) => startAndDie(stage, flow, death)))
  })
})

describe('a pass of the reconciler that finds Redis empty', () => {
  it('can be cut off before and after each of its effects, and what it leaves behind is put right', LONG, async () => {
    const users = await givenDebrisUsers(stage)
    const pass = async (death?: Death) => {
      await givenDebris(stage, users)
      return startPass(stage, death)
    }
    const { process } = await until(async () => {
      const rehearsal = await pass()
      return rehearsal.process.effects.includes('rows.clean#1') && rehearsal
    }, 'a whole pass')
    const crashes: Crash[] = []
    for (const death of deathsIn(process.effects)) {
      const crash = await until(async () => {
        const died = await pass(death)
        return died.process.isDead && died
      }, `a death ${death.way} ${death.effect}`)
      crashes.push(crash)
      await reconcile(stage.ports, FULL)
    }
    await expectPutRight(stage, [...crashes, { process, end: Promise.resolve(), scenes: [...users.values()] }])
  })
})

describe('a submit that was cut off, and then the run of what it has stored', () => {
  it('can be cut off at any two places, and what it leaves behind is put right', LONG, async () => {
    const runs = deathsIn(await rehearse(stage, aRun))
    const pairs: (readonly [Death, Death])[] = []
    for (const first of deathsIn(await rehearse(stage, aSubmit))) {
      const { scenes } = await startAndDie(stage, aSubmit, first)
      const stored = await stage.ports.submissions.activeGeneration(scenes[0]?.user.id ?? '')
      if (stored) pairs.push(...runs.map((second) => [first, second] as const))
    }
    expect(pairs.length).toBeGreaterThanOrEqual(100)
    const crashes = await inTurns(pairs, async ([first, second]) => {
      const submitted = await startAndDie(stage, aSubmit, first)
      const [scene] = submitted.scenes
      const its = { ...aRun, given: async () => scene as Scene }
      return [submitted, { ...(await startAndDie(stage, its, second)), scenes: [] }]
    })
    await expectPutRight(stage, crashes.flat())
  })
})

describe('a user', () => {
  const way = fc.constantFrom<Way>('before', 'after')
  const act = fc.oneof(
    { weight: 3, arbitrary: fc.record({ do: fc.constant('submit'), at: fc.nat(), way }) },
    { weight: 6, arbitrary: fc.record({ do: fc.constant('run'), at: fc.nat(), way }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('reconcile'), at: fc.nat(), way }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('ask again', 'cancel', 'wait') }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('wake'), which: fc.nat() }) },
  )
  type Act = typeof act extends fc.Arbitrary<infer A> ? A : never

  it(`whose generations crash again and again is never stuck and never cheated (seed ${SEED})`, LONG, async () => {
    const deaths = {
      submit: deathsIn(await rehearse(stage, aSubmit)).map(({ effect }) => effect),
      run: deathsIn(await rehearse(stage, aRun)).map(({ effect }) => effect),
      reconcile: ['rows.requeueLost#1', 'rows.failLost#1', 'lock.release#1', 'queue.enqueue#1', 'rows.markEnqueued#1'],
    }
    const live = async (scene: Scene, acts: readonly Act[]): Promise<Crash[]> => {
      const its = (flow: Flow) => ({ ...flow, given: async () => scene })
      const crashes: Crash[] = [{ ...(await start(stage, its(aSubmit))), scenes: [scene] }]
      for (const each of acts) {
        if ('at' in each) {
          const death = { effect: deaths[each.do][each.at % deaths[each.do].length] as string, way: each.way }
          const crash =
            each.do === 'reconcile'
              ? startPass(stage, death)
              : start(stage, its(each.do === 'run' ? aRun : aSubmit), death)
          crashes.push({ ...(await crash), scenes: [] })
        } else if (each.do === 'ask again') await expectFreeAtOnce(stage, scene)
        else if (each.do === 'wait') await stage.timePasses(8)
        else if (each.do === 'wake') await wake(crashes[each.which % crashes.length])
        else await cancelActive(stage, scene)
      }
      return crashes
    }
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(act, { maxLength: 8 }), { minLength: 8, maxLength: 12 }), async (lives) => {
        const crashes = await inTurns(lives, async (acts) => live(await givenScene(stage, { credits: 100 }), acts))
        await expectPutRight(stage, crashes.flat())
      }),
      { seed: SEED, numRuns: 2 * effort, endOnFailure: true },
    )
  })
})
