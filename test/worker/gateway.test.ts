import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import { startOpenAiStandIn } from '../stand-ins/openai/openai-stand-in.js'
import { endOf } from '../support/client.js'
import { chargesOf, givenGeneration, givenUser, MODEL, rowOf } from '../support/givens.js'
import { startGivingUpProxy } from '../support/giving-up-proxy.js'
import { type Service, startService } from '../support/service.js'
import { until } from '../support/until.js'
import { QUICK } from '../support/worker-times.js'

let service: Service
beforeAll(async () => {
  service = await startService({ env: { RATE_LIMIT_MAX: '100000' } })
})
afterEach(() => service?.endWorkers())
afterAll(() => service?.close())

const LONG = 42
const NEVER = new Promise<never>(() => undefined)
const CHARGED_AND_GIVEN_BACK = [
  ['charge', -1],
  ['refund', 1],
]

async function givenQueued(more: object = {}) {
  const user = await givenUser(service.db)
  const { id } = await givenGeneration(service.db, user, { width: 64, height: 64, ...more })
  return { user, id }
}

it('a GPU server that is restarted twice while it draws costs the generation no try', async () => {
  const gpu = await startA1111StandIn({ models: [MODEL.filename] })
  onTestFinished(() => gpu.close())
  gpu.set({ held: true })
  const { user, id } = await givenQueued()
  await service.worker({ times: QUICK }, { INFERENCE_URL: gpu.inferenceUrl })
  for (const attempt of [1, 2]) {
    await until(async () => gpu.asked().length >= attempt && gpu.jobs() > 0, 'the drawing')
    await gpu.refuse()
    await until(async () => (await rowOf(service.db, { id })).attempt > attempt, 'its being put back')
    // A restart forgets what was drawn.
    gpu.set({ held: false })
    await until(() => gpu.jobs() === 0, 'nothing being drawn')
    gpu.set({ held: true })
    await gpu.accept()
  }
  gpu.set({ held: false })
  expect(await endOf(service, user, id)).toMatchObject({ status: 'succeeded' })
  expect(await rowOf(service.db, { id })).toMatchObject({ tries: 0 })
})

describe('a proxy before the GPU server that gives up while an image is drawn', () => {
  it.each([504, 502, 503, 408, 499, 524, 'cut'] as const)(
    'fails the generation in the end and lets others go first, and what it gave up is interrupted: %s',
    async (how) => {
      const goingOn: number[] = []
      const onTxt2img = () => goingOn.push(gpu.jobs())
      const gpu = await startA1111StandIn({ models: [MODEL.filename], onTxt2img })
      gpu.set({ held: LONG })
      const isLate = (_path: string, body: string) =>
        body.includes(`"seed":${LONG},`) ? until(() => gpu.jobs() > 0, 'the drawing') : NEVER
      const proxy = await startGivingUpProxy(gpu.url, isLate, how)
      onTestFinished(async () => {
        await proxy.close()
        await gpu.close()
      })
      const long = await givenQueued({ seed: LONG })
      const short = await givenQueued({ seed: 7 })
      await service.worker({ times: QUICK }, { INFERENCE_URL: proxy.through(gpu.inferenceUrl) })
      expect(await endOf(service, short.user, short.id)).toMatchObject({ status: 'succeeded' })
      expect(
        gpu
          .asked()
          .map(({ seed }) => seed)
          .slice(0, 2),
      ).toEqual([LONG, 7])
      expect(await endOf(service, long.user, long.id)).toEqual({
        ...{ id: long.id, status: 'failed' },
        error: expect.stringMatching(/^The (drawing was cut off|connection to the GPU server was lost)/),
      })
      expect(await rowOf(service.db, short)).toMatchObject({ attempt: 1, tries: 0 })
      expect(await chargesOf(service.db, long.user)).toEqual(CHARGED_AND_GIVEN_BACK)
      // One that could be a restart of the server, and three tries: the other one, drawn meanwhile, shows that it is none.
      expect(gpu.asked().filter(({ seed }) => seed === LONG)).toHaveLength(4)
      // What was given up had ended before the next drawing began.
      expect(goingOn).toEqual(goingOn.map(() => 0))
    },
  )

  it('fails the generation in the end where the server cannot be interrupted', async () => {
    const gpu = await startOpenAiStandIn({ models: [MODEL.filename] })
    gpu.set({ held: true })
    const proxy = await startGivingUpProxy(gpu.url, (path) => (path.endsWith('/generations') ? delay(20) : NEVER))
    onTestFinished(async () => {
      await proxy.close()
      await gpu.close()
    })
    const { user, id } = await givenQueued()
    const url = `${proxy.through(gpu.inferenceUrl(''))}?sampler=euler_a`
    await service.worker({ times: QUICK }, { INFERENCE_URL: url })
    expect(await endOf(service, user, id)).toMatchObject({ status: 'failed' })
    expect(gpu.asked()).toHaveLength(5)
  })
})

describe('a firewall before the GPU server that refuses one drawing', () => {
  async function givenRefused(status: number) {
    const gpu = await startA1111StandIn({ models: [MODEL.filename] })
    onTestFinished(() => gpu.close())
    gpu.set({ fault: { status }, sampler: 'Heun' })
    const mend = () => gpu.set({ fault: 'none' })
    const refused = await givenQueued({ sampler: 'heun' })
    const others = [await givenQueued(), await givenQueued()]
    await service.worker({ times: QUICK }, { INFERENCE_URL: gpu.inferenceUrl })
    const serve = async ({ user, id }: (typeof others)[number]) =>
      expect(await endOf(service, user, id)).toMatchObject({ status: 'succeeded' })
    for (const other of others) await serve(other)
    return { refused, serve, mend }
  }

  it.each([302, 401, 403, 404, 405, 501, 502, 503])(
    'keeps nobody else waiting, and fails it in the end: %i',
    async (status) => {
      const { refused, serve } = await givenRefused(status)
      const isOver = async () => (await rowOf(service.db, refused)).status === 'failed'
      while (!(await isOver())) await serve(await givenQueued())
      expect(await chargesOf(service.db, refused.user)).toEqual(CHARGED_AND_GIVEN_BACK)
    },
  )

  it.each([204, 403, 502])('fails it in the end where nothing else is to be drawn: %i', async (status) => {
    const gpu = await startA1111StandIn({ models: [MODEL.filename] })
    onTestFinished(() => gpu.close())
    gpu.set({ fault: { status } })
    const { user, id } = await givenQueued()
    await service.worker({ times: { ...QUICK, probeCapMs: 20 } }, { INFERENCE_URL: gpu.inferenceUrl })
    expect(await endOf(service, user, id)).toMatchObject({ status: 'failed' })
    expect(await rowOf(service.db, { id })).toMatchObject({ attempt: 23, tries: 2 })
    expect(await chargesOf(service.db, user)).toEqual(CHARGED_AND_GIVEN_BACK)
  })

  it.each([429, 529])('keeps nobody else waiting, and does not count what says that it is busy: %i', async (status) => {
    const { refused, serve, mend } = await givenRefused(status)
    const { attempt } = await rowOf(service.db, refused)
    await until(async () => (await rowOf(service.db, refused)).attempt > attempt, 'another attempt')
    await serve(await givenQueued())
    expect(await rowOf(service.db, refused)).toMatchObject({ tries: 0 })
    mend()
    await serve(refused)
  })
})
