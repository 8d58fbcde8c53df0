import { afterEach, beforeAll, expect, it } from 'vitest'
import type { Pausable } from '../../src/core/operator/pauses.js'
import { pauseStore } from '../../src/db/operator/pauses.js'
import type { WorkerOptions } from '../../src/process/start-worker.js'
import { startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import { call, endOf, PROMPT } from '../support/client.js'
import { type GivenUser, givenUser, rowOf } from '../support/givens.js'
import { useService } from '../support/service.js'
import { until } from '../support/until.js'
import { ONLY_WHEN_CALLED, QUICK } from '../support/worker-times.js'
import { endRepairs } from './reconciler.js'

const PONY = 'ponyDiffusionV6XL.safetensors'
const SDXL = 'sd_xl_base_1.0.safetensors'
const BY = { actor: 'test', reason: 'because' }

const context = useService(async () => {
  const gpu = await startA1111StandIn({ models: [PONY, SDXL] })
  return { env: { INFERENCE_URL: `preview:,${gpu.inferenceUrl}`, RATE_LIMIT_MAX: '100000' } }
})
beforeAll(async () => {
  await endRepairs(context.service.db)
})
const pauses = () => pauseStore(context.service.db)

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})
async function startWorker(times: NonNullable<WorkerOptions['times']>) {
  const { stop } = await context.service.worker({ times })
  stops.push(stop)
}

async function submit(user: GivenUser, modelVersionId: number): Promise<string> {
  const body = { ...PROMPT, width: 256, height: 256, model_version_id: modelVersionId }
  const { body: submitted } = await call(context.service.url, 'POST', '/api/v1/generate', { key: user.key, body })
  return submitted.id
}
async function generate(modelVersionId: number) {
  const user = await givenUser(context.service.db)
  const id = await submit(user, modelVersionId)
  await endOf(context.service, user, id)
  return rowOf(context.service.db, { id })
}
async function backendNamed(start: string): Promise<string> {
  const { rows } = await context.service.db.pool.query('SELECT name FROM backends WHERE name LIKE $1', [`${start}%`])
  return rows[0].name
}

it('a generation of a paused model waits, however often workers look, and starts when the model is resumed', async () => {
  await startWorker(ONLY_WHEN_CALLED)
  const model: Pausable = { scope: 'model', target: PONY }
  expect(await pauses().pause(model, BY)).toBe(true)
  expect(await pauses().pause(model, BY)).toBe(false)
  const user = await givenUser(context.service.db)
  const id = await submit(user, 10)
  // Later ones pass by: idle backends are rung for each, and see it first.
  for (let n = 0; n < 3; n++) expect(await generate(13)).toMatchObject({ status: 'succeeded', filename: SDXL })
  expect(await rowOf(context.service.db, { id })).toMatchObject({ status: 'queued', attempt: 1 })

  // Nothing but the resuming makes the worker look again.
  expect(await pauses().resume(model, BY)).toBe(true)
  expect(await endOf(context.service, user, id)).toMatchObject({ status: 'succeeded' })
})

it('a paused backend claims nothing, and the other one does its work', async () => {
  await startWorker(QUICK)
  const gpu: Pausable = { scope: 'backend', target: await backendNamed('a1111') }
  await pauses().pause(gpu, BY)
  for (let n = 0; n < 4; n++) expect((await generate(10)).backend).toBe('preview:')
  await pauses().resume(gpu, BY)
  const preview: Pausable = { scope: 'backend', target: await backendNamed('preview') }
  await pauses().pause(preview, BY)
  for (let n = 0; n < 2; n++) expect((await generate(10)).backend).toBe(gpu.target)
  await pauses().resume(preview, BY)
})

it('nothing starts while everything is paused, and all of it starts when that ends', async () => {
  await startWorker(QUICK)
  const all: Pausable = { scope: 'all', target: '' }
  await pauses().pause(all, BY)
  const users = await Promise.all(Array.from({ length: 3 }, () => givenUser(context.service.db)))
  const ids = await Promise.all(users.map((user) => submit(user, 10)))
  for (let n = 0; n < 3; n++) await aClaim()
  for (const id of ids) expect((await rowOf(context.service.db, { id })).status).toBe('queued')
  await pauses().resume(all, BY)
  for (const [n, id] of ids.entries())
    expect(await endOf(context.service, users[n] as GivenUser, id)).toMatchObject({ status: 'succeeded' })
})

it('a pause is recorded with who and why, and so is its end', async () => {
  await pauses().pause({ scope: 'model', target: PONY }, { actor: 'alice', reason: 'it draws in green' })
  await pauses().resume({ scope: 'model', target: PONY }, { actor: 'bob', reason: '' })
  const { rows } = await context.service.db.pool.query(
    'SELECT actor, action, target, reason FROM operator_actions ORDER BY id DESC LIMIT 2',
  )
  expect(rows).toEqual([
    { actor: 'bob', action: 'resumed model', target: PONY, reason: '' },
    { actor: 'alice', action: 'paused model', target: PONY, reason: 'it draws in green' },
  ])
})

/** A backend has looked for work from now on. */
async function aClaim(): Promise<void> {
  const { pool } = context.service.db
  const { rows } = await pool.query('SELECT clock_timestamp()::text AS now')
  await until(
    async () =>
      (
        await pool.query(
          `SELECT FROM pg_stat_activity
            WHERE datname = current_database() AND query LIKE '%head AS MATERIALIZED%' AND pid <> pg_backend_pid()
                  AND state = 'idle' AND query_start > $1::timestamptz`,
          [rows[0].now],
        )
      ).rowCount,
    'a claim',
  )
}
