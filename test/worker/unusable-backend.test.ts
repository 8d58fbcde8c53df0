import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { backendRegistry } from '../../src/db/generations/backends.js'
import { type A1111StandIn, startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import { startOpenAiStandIn } from '../stand-ins/openai/openai-stand-in.js'
import { endOf } from '../support/client.js'
import { chargesOf, givenGeneration, givenUser, MODEL, rowOf } from '../support/givens.js'
import { type Service, startService } from '../support/service.js'
import { unguarded } from '../support/unguarded.js'
import { until } from '../support/until.js'
import { QUICK } from '../support/worker-times.js'
import { aPass } from './reconciler.js'

let service: Service
let gpu: A1111StandIn

beforeAll(async () => {
  service = await startService({ env: { RATE_LIMIT_MAX: '1000' } })
})
afterAll(() => service?.close())
beforeEach(async () => {
  gpu = await startA1111StandIn({ models: [MODEL.filename] })
})
afterEach(async () => {
  await service?.endWorkers()
  await gpu?.close()
})

/** A generation of a minute ago; what the backends say of themselves is as old. */
async function givenWaiting(up: boolean, backends = 1) {
  const { db } = service
  await until(async () => {
    const { rows } = await db.pool.query('SELECT up FROM backends')
    return rows.length === backends && rows.every((it) => it.up === up)
  }, 'the backends')
  const user = await givenUser(db)
  const { id } = await givenGeneration(db, user, { width: 64, height: 64 })
  await db.pool.query(`UPDATE backends SET changed_at = now() - interval '70 seconds'`)
  await unguarded(db, `UPDATE generations SET created_at = now() - interval '70 seconds' WHERE id = $1`, [id])
  return { user, id }
}

const serve = (inferenceUrl: string) => service.worker({ times: QUICK }, { INFERENCE_URL: inferenceUrl })

it('a generation fails and is given back if all servers refuse from the start, which counts as having no model', async () => {
  const [another, locked] = await Promise.all([
    startOpenAiStandIn({ dialect: 'sdcpp' }),
    startOpenAiStandIn({ auth: ':key' }),
  ])
  try {
    // Of another kind, without such an API, and with a password that the worker does not have.
    const servers = [another.url, `${gpu.url}/none`, locked.url].map((url) => `openai+${url}?sampler=euler_a`)
    await serve(servers.join(','))
    const { user, id } = await givenWaiting(false, servers.length)
    expect(await endOf(service, user, id)).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('not loaded'),
    })
    expect(await chargesOf(service.db, user)).toEqual([
      ['charge', -1],
      ['refund', 1],
    ])
  } finally {
    await Promise.all([another.close(), locked.close()])
  }
})

it('a generation waits for a server that is down, or that has worked before it began to refuse', async () => {
  await gpu.refuse()
  await serve(gpu.inferenceUrl)
  const first = await givenWaiting(false)
  await aPass(service.db)
  expect(await rowOf(service.db, first)).toMatchObject({ status: 'queued' })
  await gpu.accept()
  expect(await endOf(service, first.user, first.id)).toMatchObject({ status: 'succeeded' })
  gpu.set({ fault: { status: 401 }, scope: 'all' })
  const second = await givenWaiting(false)
  await aPass(service.db)
  expect(await rowOf(service.db, second)).toMatchObject({ status: 'queued' })
  gpu.set({ fault: 'none' })
  expect(await endOf(service, second.user, second.id)).toMatchObject({ status: 'succeeded' })
})

it('a server draws although one of its models has a name that Postgres cannot keep', async () => {
  const odd = await startA1111StandIn({ models: ['a\0b.safetensors', 'half \ud800.safetensors', MODEL.filename] })
  try {
    await serve(odd.inferenceUrl)
    const user = await givenUser(service.db)
    const { id } = await givenGeneration(service.db, user, { width: 64, height: 64 })
    expect(await endOf(service, user, id)).toMatchObject({ status: 'succeeded' })
    const { rows } = await service.db.pool.query('SELECT models FROM backends')
    expect(rows).toEqual([{ models: [MODEL.filename] }])
  } finally {
    await odd.close()
  }
})

it('the error of a server that was down is shown until it has drawn again', async () => {
  const { db } = service
  const shown = async () => (await db.pool.query('SELECT up, error, error_at FROM backends')).rows
  await gpu.refuse()
  await serve(gpu.inferenceUrl)
  await until(async () => (await shown())[0]?.up === false, 'the backend to be down')
  await gpu.accept()
  await until(async () => (await shown())[0]?.up, 'the backend to be up')
  const before = await shown()
  expect(before).toMatchObject([{ error: expect.stringContaining('ECONNREFUSED'), error_at: expect.any(Date) }])
  const user = await givenUser(db)
  const { id } = await givenGeneration(db, user, { width: 64, height: 64 })
  expect(await endOf(service, user, id)).toMatchObject({ status: 'succeeded' })
  await until(async () => (await shown())[0]?.error === null, 'the error to be gone')
  expect(await shown()).toEqual([{ up: true, error: null, error_at: null }])
})

it('what a server says of its failure is kept without what Postgres cannot keep', async () => {
  const serves = { models: [], samplers: [], maxSeed: 0, sizeMultiple: 1 }
  const condition = { loaded: undefined, error: 'it said \0 and \ud800' }
  await backendRegistry(service.db).announce('worker', 'a1111+http://odd', false, serves, condition)
  const { rows } = await service.db.pool.query('SELECT error FROM backends')
  expect(rows).toEqual([{ error: 'it said  and \ufffd' }])
})
