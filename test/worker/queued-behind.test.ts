import { expect, it, onTestFinished } from 'vitest'
import { type ModelVersion, SEED_MODELS } from '../../src/core/catalog/model-version.js'
import { startComfyuiStandIn } from '../stand-ins/comfyui/comfyui-stand-in.js'
import { call } from '../support/client.js'
import { type GivenUser, givenGeneration, givenUser } from '../support/givens.js'
import { startLoops } from '../support/gpu-loops.js'
import { startService } from '../support/service.js'
import { until } from '../support/until.js'
import { QUICK } from '../support/worker-times.js'

const [MODEL] = SEED_MODELS as [ModelVersion]
/** The seeds of the generations, in their order. */
const SEEDS = [1, 2, 3, 4, 5]

/**
 * Generations that wait for a ComfyUI, which has drawn the first, is held in the second and has the third behind it: the
 * first tells how long one takes.
 */
async function givenOneBehindAnother() {
  const service = await startService()
  onTestFinished(() => service.close())
  const gpu = await startComfyuiStandIn({ models: [MODEL.filename] })
  onTestFinished(() => gpu.close())
  const users: GivenUser[] = []
  const ids: string[] = []
  for (const seed of SEEDS) {
    const user = await givenUser(service.db)
    const asked = { width: 64, height: 64, steps: 2, seed, model: MODEL }
    users.push(user)
    ids.push((await givenGeneration(service.db, user, asked)).id)
  }
  gpu.set({ held: 2 })
  const loops = await startLoops(service, { inferenceUrls: [gpu.inferenceUrl], times: QUICK })
  onTestFinished(() => loops.close())
  await until(() => gpu.queue().length === 2, 'one prompt behind another')
  const statusesOf = async () => {
    const { rows } = await service.db.pool.query('SELECT id, status FROM generations')
    return ids.map((id) => rows.find((row) => row.id === id)?.status)
  }
  await until(async () => (await statusesOf())[0] === 'succeeded', 'the first one being stored')
  const allSucceed = async () => {
    gpu.set({ held: false })
    await until(async () => (await statusesOf()).every((status) => status === 'succeeded'), 'all to succeed')
  }
  const putBacks = async () => {
    const { rows } = await service.db.pool.query(
      'SELECT generation_id, reason FROM put_back_attempts ORDER BY generation_id',
    )
    return rows.map(({ generation_id: id, reason }) => [ids.indexOf(id), reason]).sort()
  }
  const cancel = async (n: number) => {
    const { key } = users[n] as GivenUser
    return (await call(service.url, 'POST', `/api/v1/generate/${ids[n]}/cancel`, { key })).status
  }
  return { service, gpu, loops, statusesOf, allSucceed, putBacks, cancel }
}

it('a worker has one prompt wait in ComfyUI behind the one that is drawn, and no more', async () => {
  const { gpu, statusesOf, allSucceed, putBacks } = await givenOneBehindAnother()
  expect(await statusesOf()).toEqual(['succeeded', 'processing', 'processing', 'queued', 'queued'])
  await allSucceed()
  expect(gpu.asked()).toHaveLength(SEEDS.length)
  expect(await putBacks()).toEqual([])
})

it('a waiting prompt that is canceled is taken off ComfyUI’s queue, and the next one takes its place', async () => {
  const { gpu, statusesOf, cancel } = await givenOneBehindAnother()
  const [running, waiting] = gpu.queue()
  expect(await cancel(2)).toBe(200)
  await until(() => !gpu.queue().includes(String(waiting)), 'the prompt being taken off')
  expect(gpu.queue()[0]).toBe(running)
  gpu.set({ held: false })
  await until(async () => !/queued|processing/.test(String(await statusesOf())), 'all to end')
  expect(await statusesOf()).toEqual(['succeeded', 'succeeded', 'failed', 'succeeded', 'succeeded'])
  expect(gpu.journal.filter(({ path }) => path === '/interrupt')).toEqual([])
})

it('the running prompt that is canceled is interrupted, and the one behind it is drawn', async () => {
  const { gpu, statusesOf, putBacks, cancel } = await givenOneBehindAnother()
  expect(await cancel(1)).toBe(200)
  await until(async () => !/queued|processing/.test(String(await statusesOf())), 'all to end')
  expect(await statusesOf()).toEqual(['succeeded', 'failed', 'succeeded', 'succeeded', 'succeeded'])
  expect(gpu.asked()).toHaveLength(SEEDS.length)
  expect(await putBacks()).toEqual([])
})

it('when ComfyUI restarts, both are drawn again, and what had not begun is no fault of the server', async () => {
  const { gpu, allSucceed, putBacks } = await givenOneBehindAnother()
  gpu.restart()
  await allSucceed()
  expect(await putBacks()).toEqual([
    [1, 'lost'],
    [2, 'gpu_not_free'],
  ])
})

it('a worker that leaves takes both off ComfyUI, and another one draws them', async () => {
  const { service, gpu, loops, statusesOf, allSucceed } = await givenOneBehindAnother()
  await loops.close()
  expect(gpu.queue()).toEqual([])
  expect(await statusesOf()).toEqual(['succeeded', 'queued', 'queued', 'queued', 'queued'])
  const others = await startLoops(service, { inferenceUrls: [gpu.inferenceUrl], times: QUICK })
  onTestFinished(() => others.close())
  await allSucceed()
})
