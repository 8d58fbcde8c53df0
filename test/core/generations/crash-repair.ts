/** What must be so once others have put right what a crash left behind. */
import { expect } from 'vitest'
import { AppError } from '../../../src/core/errors.js'
import { cancelGeneration } from '../../../src/core/generations/cancel.js'
import { type Crash, inTurns } from './crash.js'
import { type Scene, submit } from './crash-flows.js'
import type { Stage } from './crash-stage.js'

/** Others put right what the dead have left; then the dead turn out to have slept, and it is put right again. */
export async function expectPutRight(stage: Stage, crashes: readonly Crash[]): Promise<void> {
  const scenes = crashes.flatMap((crash) => crash.scenes)
  await stage.heal()
  await stage.expectSound({ whileSomeSleep: true })
  await inTurns(scenes, (scene) => expectFree(stage, scene))
  // What is still active would keep a sleeper from charging; it has no such excuse.
  await stage.workOff()
  await inTurns(crashes, wake)
  await stage.heal()
  await stage.expectSound()
  await inTurns(scenes, (scene) => expectOneOfEachKey(stage, scene))
}

/** It goes on where it was stopped, and ends well or with a refusal. */
export async function wake(crash: Crash | undefined): Promise<void> {
  crash?.process.wake()
  await crash?.end.catch((error) => expect(error).toBeInstanceOf(AppError))
}

/** The user can submit again. Without an idempotency key that is another generation, which is canceled. */
async function expectFree(stage: Stage, scene: Scene): Promise<void> {
  const again = await submit(stage.ports, scene).catch((error) => error)
  if (scene.isPoor) return expect(again).toMatchObject({ code: 'insufficient_credits' })
  expect(again).not.toBeInstanceOf(Error)
  if (!scene.submission.idempotency) await cancelGeneration(stage.ports, again.id, 'Canceled.', { onlyQueued: false })
}

/** They can even submit at once, unless something is active, or another submit seems to be just about to charge. */
export async function expectFreeAtOnce(stage: Stage, scene: Scene): Promise<void> {
  const { submissions } = stage.ports
  const active = await submissions.activeGeneration(scene.user.id)
  const lock = (await stage.locks()).find(({ accountId }) => accountId === scene.user.id)
  const isSubmitting = lock !== undefined && (await submissions.find(lock.generationId)) === undefined
  const again = await submit(stage.ports, scene).catch((error) => error)
  if (again instanceof Error && (active || isSubmitting)) expect(again).toMatchObject({ code: 'active_generation' })
  else expect(again).not.toBeInstanceOf(Error)
}

export async function cancelActive(stage: Stage, { user }: Scene): Promise<void> {
  const active = await stage.ports.submissions.activeGeneration(user.id)
  if (active) await cancelGeneration(stage.ports, active.id, 'Canceled.', { onlyQueued: false })
}

/** However often it was asked for with the same key, there is one generation, and it was charged once. */
async function expectOneOfEachKey(stage: Stage, { user, isPoor, submission }: Scene): Promise<void> {
  if (!submission.idempotency) return
  const { rows } = await stage.db.pool.query('SELECT count(*) AS n FROM generations WHERE user_id = $1', [user.id])
  expect(rows[0].n).toBe(isPoor ? 0 : 1)
}
