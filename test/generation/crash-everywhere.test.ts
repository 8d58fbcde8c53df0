import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AppError } from '../../src/errors.js'
import { cancelGeneration } from '../../src/generation/cancel.js'
import { reconcile } from '../../src/generation/repair/reconcile.js'
import { effort, seedOf } from '../support/effort.js'
import { until } from '../support/until.js'
import { type Crash, deathsIn, inTurns, rehearse, start, startAndDie, startPass } from './crash.js'
import { givenDebris, givenDebrisUsers } from './crash-debris.js'
import { CREATE_IMAGES, type Flow, givenScene, RUNS, type Scene, SUBMITS, submit } from './crash-flows.js'
import { openStage, type Stage } from './crash-stage.js'
import type { Death, Way } from './mortal.js'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage.close())

const LONG = { timeout: 120_000 * effort }
const SEED = seedOf(41)
const FULL = { full: true, leasesCount: true }
const aSubmit = SUBMITS['a submit'] as Flow
const aRun = RUNS['a run'] as Flow

describe.each(Object.entries({ ...SUBMITS, ...CREATE_IMAGES, ...RUNS }))('%s', (_name, flow) => {
  it('can be cut off before and after each of its effects, and all is put right', LONG, async () => {
    const effects = await rehearse(stage, flow)
    await expectPutRight(await inTurns(deathsIn(effects), (death) => startAndDie(stage, flow, death)))
  })
})

describe('a pass of the reconciler that finds Redis empty', () => {
  it('can be cut off before and after each of its effects, and all is put right', LONG, async () => {
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
    await expectPutRight([...crashes, { process, end: Promise.resolve(), scenes: [...users.values()] }])
  })
})

describe('a submit that was cut off, and then the run of what it has stored', () => {
  it('can be cut off at any two places, and all is put right', LONG, async () => {
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
    await expectPutRight(crashes.flat())
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
        } else if (each.do === 'ask again') await expectFreeAtOnce(scene)
        else if (each.do === 'wait') await stage.timePasses(8)
        else if (each.do === 'wake') await wake(crashes[each.which % crashes.length])
        else await cancelActive(scene)
      }
      return crashes
    }
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(act, { maxLength: 8 }), { minLength: 8, maxLength: 12 }), async (lives) => {
        const crashes = await inTurns(lives, async (acts) => live(await givenScene(stage, { credits: 100 }), acts))
        await expectPutRight(crashes.flat())
      }),
      { seed: SEED, numRuns: 2 * effort, endOnFailure: true },
    )
  })
})

/** Others put right what the dead have left; then the dead turn out to have slept, and it is put right again. */
async function expectPutRight(crashes: readonly Crash[]): Promise<void> {
  const scenes = crashes.flatMap((crash) => crash.scenes)
  await stage.heal()
  await stage.expectSound({ whileSomeSleep: true })
  await inTurns(scenes, expectFree)
  // What is still active would keep a sleeper from charging; it has no such excuse.
  await stage.workOff()
  await inTurns(crashes, wake)
  await stage.heal()
  await stage.expectSound()
  await inTurns(scenes, expectOneOfEachKey)
}

/** It goes on where it was stopped, and ends well or with a refusal. */
async function wake(crash: Crash | undefined): Promise<void> {
  crash?.process.wake()
  await crash?.end.catch((error) => expect(error).toBeInstanceOf(AppError))
}

/** The user can submit again. Without an idempotency key that is another generation, which is canceled. */
async function expectFree(scene: Scene): Promise<void> {
  const again = await submit(stage.ports, scene).catch((error) => error)
  if (scene.isPoor) return expect(again).toMatchObject({ code: 'insufficient_credits' })
  expect(again).not.toBeInstanceOf(Error)
  if (!scene.submission.idempotency) await cancelGeneration(stage.ports, again.id, 'Canceled.', { onlyQueued: false })
}

/** They can even submit at once, unless something is active, or another submit seems to be just about to charge. */
async function expectFreeAtOnce(scene: Scene): Promise<void> {
  const { submissions } = stage.ports
  const active = await submissions.activeGeneration(scene.user.id)
  const lock = (await stage.locks()).find(({ accountId }) => accountId === scene.user.id)
  const isSubmitting = lock !== undefined && (await submissions.find(lock.generationId)) === undefined
  const again = await submit(stage.ports, scene).catch((error) => error)
  if (again instanceof Error && (active || isSubmitting)) expect(again).toMatchObject({ code: 'active_generation' })
  else expect(again).not.toBeInstanceOf(Error)
}

async function cancelActive({ user }: Scene): Promise<void> {
  const active = await stage.ports.submissions.activeGeneration(user.id)
  if (active) await cancelGeneration(stage.ports, active.id, 'Canceled.', { onlyQueued: false })
}

/** However often it was asked for with the same key, there is one generation, and it was charged once. */
async function expectOneOfEachKey({ user, isPoor, submission }: Scene): Promise<void> {
  if (!submission.idempotency) return
  const { rows } = await stage.db.pool.query('SELECT count(*) AS n FROM generations WHERE user_id = $1', [user.id])
  expect(rows[0].n).toBe(isPoor ? 0 : 1)
}
