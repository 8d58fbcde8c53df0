/** What some guards promise beyond what the invariants say, looked at while nothing else goes on. */
import { randomUUID } from 'node:crypto'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { ModelVersion } from '../../../src/core/catalog/model-version.js'
import { SEED_MODELS } from '../../../src/core/catalog/model-version.js'
import type { Generation } from '../../../src/core/generations/generation.js'
import { createDatabase, type Database } from '../../../src/db/client.js'
import { cancelStore } from '../../../src/db/generations/end.js'
import { createPatientRedis } from '../../../src/redis/client.js'
import { PRESENT, wipeMarkKey } from '../../../src/redis/wipe-mark.js'
import { aGeneration, type GivenUser, givenGeneration, givenUser, MODEL } from '../../support/givens.js'
import { until } from '../../support/until.js'
import type { Scene } from './guard.js'
import type { Violation } from './history.js'
import { SIZE } from './load.js'
import { MISSING_MODEL } from './stage.js'

export const NOBODY_HAS = SEED_MODELS.find(({ id }) => id === MISSING_MODEL) as ModelVersion
const WIPE_MARK = wipeMarkKey('easel')
/** As redis/active-generation-lock.ts names it. */
const lockOf = (accountId: string) => `easel:lock:${accountId}`

/** As a worker's death leaves what it ran, when its lease is over. */
export const LOST = {
  ...{ status: `'processing'`, started_at: 'now()', worker: `'gone'`, backend: `'gone'` },
  lease_until: `now() - interval '1 second'`,
}

/** From the wipe until queue and locks are back. */
const REBUILT_WITHIN_MS = 5000
/** From a change of hands until whoever took over has cleared up. */
const CLEARED_WITHIN_MS = 6000
/** On average. An idle worker polls for work every 2 s; one that gets a job starts far sooner. */
const RUNG_WITHIN_MS = 500
const PUT_BACK = 7
/** As a stored generation's lock: longer than a submit's. */
const LOCKED_MS = 600_000
/** What a probe must bring about first takes this long at most, on a busy machine. */
const ARRANGED_MS = 30_000

/**
 * A generation of a developer's own, straight into the table, as some fault could have left it.
 * @param state columns and what they hold, as SQL
 * @param owner another account's, if given
 */
export async function plant(
  scene: Scene,
  state: Readonly<Record<string, string>>,
  owner?: GivenUser,
): Promise<Generation> {
  return withDatabase(scene, async (db) => {
    const user = owner ?? (await givenUser(db, { credits: 0, developer: { concurrency: 1 } }))
    const size = { width: SIZE, height: SIZE, steps: 4 }
    const generation = aGeneration(user, { ...size, prompt: `planted plain ${randomUUID()}` })
    const { id, accountId, keyId, lane, modelVersionId, modelName, filename, prompt, seed, slugs } = generation
    const row = new Map<string, unknown>([
      ...Object.entries({ id, user_id: accountId, api_key_id: keyId, lane, metered: true, cost: 0 }),
      ...Object.entries({ model_version_id: modelVersionId, model_name: modelName, filename, sampler: 'euler_a' }),
      ...Object.entries({ prompt, negative_prompt: '', ...size, batch_size: 1, cfg_scale: 7, seed, slugs }),
      ['deadline_at', new Date(Date.now() + 60_000)],
    ])
    for (const column of Object.keys(state)) row.delete(column)
    const columns = [...row.keys(), ...Object.keys(state)]
    const values = [...Array.from(row, (_, i) => `$${i + 1}`), ...Object.values(state)]
    await scene.client.query(`INSERT INTO generations (${columns}) VALUES (${values})`, [...row.values()])
    return generation
  })
}

/** Stores a second generation for an account that has an active one, as a submit would that neither the lock nor the check before it has stopped. */
export async function plantBesideActive(scene: Scene): Promise<void> {
  const owner = await withDatabase(scene, async (db) => {
    const user = await givenUser(db)
    await givenGeneration(db, user, { prompt: `planted plain ${randomUUID()}` })
    return user
  })
  await plant(scene, { metered: 'false' }, owner)
}

/** After a wipe of Redis the locks are back within seconds; the next leader clears up what is left over. */
export async function rebuiltAfterWipe(scene: Scene): Promise<Violation[]> {
  const { stage, client } = scene
  const waiting = await withDatabase(scene, async (db) =>
    givenGeneration(db, await givenUser(db), { model: NOBODY_HAS, deadlineSeconds: 60 }),
  )
  const failed = await plant(scene, {
    ...{ status: `'failed'`, error: `'Canceled.'`, worker: `'gone'`, created_at: `now() - interval '1 minute'` },
    ...{ started_at: `now() - interval '50 seconds'`, finished_at: `now() - interval '40 seconds'` },
  })
  const file = join(stage.images.path, `${failed.slugs[0]}.png`)
  writeFileSync(file, 'of an attempt that nobody waits for any more')
  const key = randomUUID()
  await client.query(
    `INSERT INTO idempotency_keys (user_id, key, body_hash, generation_id, created_at)
     VALUES ($1, $2, '', $3, now() - interval '25 hours')`,
    [waiting.accountId, key, waiting.id],
  )

  await stage.redis.flush()
  const redis = createPatientRedis(stage.redis.url(), () => undefined)
  try {
    if (!(await within(REBUILT_WITHIN_MS, async () => (await redis.get(WIPE_MARK)) === PRESENT)))
      return [{ invariant: 'rebuilt', what: `${REBUILT_WITHIN_MS} ms after a wipe of Redis nothing was rebuilt` }]
    const found: Violation[] = []
    if ((await redis.get(lockOf(waiting.accountId))) !== waiting.id)
      found.push({ invariant: 'I6', what: `the active ${waiting.id} has no lock, though Redis was rebuilt` })
    await client.query(
      `UPDATE leases SET holder = 'nobody', until = now() + interval '1 second' WHERE name = 'reconciler'`,
    )
    if (!(await within(CLEARED_WITHIN_MS, () => !existsSync(file))))
      found.push({ invariant: 'I14', what: `an image of the failed ${failed.id} is still there` })
    const forgotten = async () =>
      (await client.query('SELECT FROM idempotency_keys WHERE key = $1', [key])).rowCount === 0
    if (!(await within(CLEARED_WITHIN_MS, forgotten)))
      found.push({ invariant: 'kept', what: 'an Idempotency-Key of 25 hours ago is still there' })
    return found
  } finally {
    redis.disconnect()
    // The run's own checks would wait for both.
    rmSync(file, { force: true })
    await client.query('UPDATE generations SET filename = $2 WHERE id = $1', [waiting.id, MODEL.filename])
  }
}

/** A worker that dies between the record of an end and the release leaves a lock: it must refuse no submit. */
export async function endedLockIsTakenOver(scene: Scene): Promise<Violation[]> {
  const { stage } = scene
  const url = stage.serverUrls[0]
  await until(async () => (await fetch(`${url}/ready`).catch(() => undefined))?.ok, 'a server', ARRANGED_MS)
  const user = await withDatabase(scene, async (db) => {
    const owner = await givenUser(db)
    const { id } = await givenGeneration(db, owner, { model: NOBODY_HAS, prompt: `planted plain ${randomUUID()}` })
    if (!(await cancelStore(db).cancel(id, 'Canceled.', { onlyQueued: false })))
      throw new Error(`${id} was not canceled`)
    const redis = createPatientRedis(stage.redis.url(), () => undefined)
    await redis.set(lockOf(owner.id), id, 'PX', LOCKED_MS)
    redis.disconnect()
    return owner
  })
  const { status } = await fetch(`${url}/api/v1/generate`, {
    method: 'POST',
    headers: { authorization: `Bearer ${user.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      prompt: `planted plain ${randomUUID()}`,
      model_version_id: MODEL.id,
      width: SIZE,
      height: SIZE,
    }),
  })
  if (status === 201) return []
  if (status !== 429) throw new Error(`the submit after a stale lock was answered with ${status}`)
  return [{ invariant: 'blocked', what: 'a user was refused as busy for a lock whose generation has ended' }]
}

/** What a lost worker had is taken by an idle one as soon as it was put back, not only when that one looks by itself. */
export async function putBackIsEnqueued(scene: Scene): Promise<Violation[]> {
  // Nobody else's look comes in between.
  await withOneBackend(scene)
  let waited = 0
  for (let i = 0; i < PUT_BACK; i++) {
    const { id } = await plant(scene, LOST)
    await until(async () => (await waitOf(scene, id)) !== undefined, 'the next start', ARRANGED_MS)
    waited += (await waitOf(scene, id)) ?? 0
  }
  withAllBackends(scene)
  const mean = Math.round(waited / PUT_BACK)
  if (mean <= RUNG_WITHIN_MS) return []
  return [{ invariant: 'enqueued', what: `what was put back waited ${mean} ms for an idle worker on average` }]
}

/**
 * A worker stops with an image in its hands, another one takes over, and the first wakes up amid that: what comes of
 * it the run's own checks tell. Needs failpoints that stop a worker there and hold the other one for a while.
 */
export async function takenOver(scene: Scene): Promise<Violation[]> {
  const { client, stage } = scene
  await withOneBackend(scene)
  const { id } = await plant(scene, {})
  await until(() => stage.workers.some(({ paused }) => paused), 'the stop of the worker', ARRANGED_MS)
  withAllBackends(scene)
  const count = async (which: string) =>
    (await client.query(`SELECT FROM chaos_events WHERE generation_id = $1 AND ${which}`, [id])).rowCount
  await until(async () => (await count(`is_now = 'processing'`)) === 2, 'the taking over', ARRANGED_MS)
  const ended = async () => {
    // The second one stops, too.
    for (const worker of stage.workers) worker.resume()
    return (await count(`is_now IN ('succeeded', 'failed')`)) !== 0
  }
  await until(ended, 'its end', ARRANGED_MS)
  return []
}

/** All GPU hosts but the first refuse, and their workers know. */
async function withOneBackend({ stage, client }: Scene): Promise<void> {
  for (const gpu of stage.workers.keys()) stage.gpus.listen(gpu, gpu === 0)
  const up = async () => (await client.query('SELECT FROM backends WHERE up')).rowCount
  await until(async () => (await up()) === 1, 'the outage of all GPUs but one', ARRANGED_MS)
}

function withAllBackends({ stage }: Scene): void {
  for (const gpu of stage.workers.keys()) stage.gpus.listen(gpu, true)
}

/** From its return into the queue to its next start, in milliseconds; undefined while it has not started. */
async function waitOf({ client }: Scene, id: string): Promise<number | undefined> {
  const { rows } = await client.query<{ ms: number }>(
    `SELECT extract(epoch FROM s.at - q.at)::float8 * 1000 AS ms
       FROM chaos_events q JOIN chaos_events s ON s.generation_id = q.generation_id AND s.n > q.n
      WHERE q.generation_id = $1 AND q.is_now = 'queued' AND s.is_now = 'processing' ORDER BY s.n LIMIT 1`,
    [id],
  )
  return rows[0]?.ms
}

async function within(ms: number, look: () => boolean | Promise<boolean>): Promise<boolean> {
  for (const end = Date.now() + ms; ; await delay(20)) {
    if (await look()) return true
    if (Date.now() > end) return false
  }
}

async function withDatabase<T>({ stage }: Scene, use: (db: Database) => Promise<T>): Promise<T> {
  const db = createDatabase(stage.postgres.url, { maxConnections: 1, onError: () => undefined })
  try {
    return await use(db)
  } finally {
    await db.pool.end()
  }
}
