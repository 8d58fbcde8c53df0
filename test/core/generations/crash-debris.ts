/** What crashes leave behind, made at once: one generation for each of the reconciler's duties. */
import { cancelGeneration } from '../../../src/core/generations/cancel.js'
import { aGeneration } from '../../support/givens.js'
import { givenScene, type Scene } from './crash-flows.js'
import type { Stage } from './crash-stage.js'

const DEBRIS = {
  'of a lost worker': `status = 'processing', worker = 'gone', backend = 'gone', started_at = now(), lease_until = now()`,
  'of the last lost worker': `status = 'processing', worker = 'gone', backend = 'gone', started_at = now(),
    lease_until = now(), tries = 2, attempt = 3`,
  'past its deadline': `deadline_at = now()`,
  'that has no job': `attempt = 2, tries = 1`,
  'that has failed and left its images': `started_at = now() - interval '50 seconds'`,
} as const

type Debris = keyof typeof DEBRIS

/** One user for each kind, so that the next debris can be theirs, too. */
export async function givenDebrisUsers(stage: Stage): Promise<ReadonlyMap<Debris, Scene>> {
  const scenes = new Map<Debris, Scene>()
  for (const kind of Object.keys(DEBRIS) as Debris[]) scenes.set(kind, await givenScene(stage, { credits: 10_000 }))
  return scenes
}

/** New debris of every kind; what its users still have active is canceled first. */
export async function givenDebris(stage: Stage, users: ReadonlyMap<Debris, Scene>): Promise<void> {
  await Promise.all([...users].map(([kind, scene]) => leave(stage, kind, scene)))
}

async function leave({ db, ports, rewrite }: Stage, kind: Debris, scene: Scene): Promise<void> {
  const { user, filename, submission } = scene
  const active = await ports.submissions.activeGeneration(user.id)
  if (active) await cancelGeneration(ports, active.id, 'Canceled.', { onlyQueued: false })
  const model = { ...(await submission.model()), filename }
  const generation = aGeneration(user, { ...submission.request, batchSize: 1, model })
  await ports.submissions.insert(generation, { deadlineSeconds: 3600, idempotencyKey: undefined })
  await db.pool.query(`UPDATE generations SET ${DEBRIS[kind]} WHERE id = $1`, [generation.id])
  // The lock and the job of this one are missing.
  if (kind === 'that has no job') {
    await db.pool.query('UPDATE unenqueued SET attempt = 2 WHERE generation_id = $1', [generation.id])
    return
  }
  await ports.lock.keep([{ accountId: user.id, generationId: generation.id, ttlMs: 3_600_000 }])
  if (kind === 'past its deadline') return
  await Promise.all(generation.slugs.map((slug) => ports.images.put(slug, LEFT)))
  if (kind !== 'that has failed and left its images') return
  await ports.cancels.cancel(generation.id, 'Canceled.', { onlyQueued: false })
  await rewrite(`UPDATE generations SET finished_at = now() - interval '40 seconds' WHERE id = '${generation.id}'`)
}

const LEFT = Buffer.from('what a crashed attempt has stored')
