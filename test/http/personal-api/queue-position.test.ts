import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Lane } from '../../../src/core/generations/generation.js'
import { queuePositions } from '../../../src/db/generations/estimates.js'
import { call } from '../../support/client.js'
import { type GivenUser, givenUser, givenWaiting, rowOf } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { standInWorker } from '../../support/stand-in-worker.js'
import { until } from '../../support/until.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000000' } })

async function position({ key }: GivenUser, id: string): Promise<number> {
  const { status, body } = await call(context.service.url, 'GET', `/api/v1/generate/${id}`, { key })
  expect(status, JSON.stringify(body)).toBe(200)
  return body.queue_position
}

const positions = (owner: GivenUser, ids: readonly string[]) => Promise.all(ids.map((id) => position(owner, id)))

/** The contract's rule, played through: three Create Image starts at most while a personal one waits. */
function playThrough(lanes: Readonly<Record<Lane, readonly string[]>>, streak = 0): string[] {
  const waiting = { personal: [...lanes.personal], create_image: [...lanes.create_image] }
  const order: string[] = []
  for (let run = streak; waiting.personal.length + waiting.create_image.length > 0; ) {
    const lane =
      waiting.create_image.length > 0 && (run < 3 || waiting.personal.length === 0) ? 'create_image' : 'personal'
    run = lane === 'create_image' ? Math.min(run + 1, 3) : 0
    order.push(waiting[lane].shift() as string)
  }
  return order
}

describe('queue_position', () => {
  let owner: GivenUser

  beforeEach(async () => {
    const { db } = context.service
    await db.pool.query(`DELETE FROM generations; SELECT setval('create_image_streak', 0)`)
    owner = await givenUser(db)
  })

  it.each([
    ['both lanes', { personal: 10, create_image: 40 }, 0],
    ['both lanes, amid a run of Create Image', { personal: 20, create_image: 15 }, 2],
    ['both lanes, after a full run of Create Image', { personal: 3, create_image: 20 }, 3],
    ['the personal lane alone', { personal: 12, create_image: 0 }, 3],
    ['the Create Image lane alone', { personal: 0, create_image: 12 }, 1],
  ])('is exact for every place in %s', async (_name, counts, streak) => {
    const { db } = context.service
    await db.pool.query(`SELECT setval('create_image_streak', $1)`, [streak])
    const lanes = await givenWaiting(db, owner, counts)
    const order = playThrough(lanes, streak)
    const [first] = order
    await until(async () => (await position(owner, first as string)) === 1, 'a snapshot of this queue')
    expect(await positions(owner, order)).toEqual(order.map((_id, index) => index + 1))
  })

  it('is the order in which workers claim', async () => {
    const { db } = context.service
    const { personal, create_image: createImage } = await givenWaiting(db, owner, { personal: 12, create_image: 12 })
    await until(async () => (await position(owner, createImage[0] as string)) === 1, 'a snapshot of this queue')
    const all = [...personal, ...createImage]
    const places = await positions(owner, all)
    const byPlace = new Map(all.map((id, index) => [places[index], id]))
    const claimed: string[] = []
    for (const _ of all) claimed.push((await standInWorker(db).claim()).id)
    expect(claimed).toEqual(claimed.map((_id, index) => byPlace.get(index + 1)))
  })

  it('comes from a snapshot that is used for 400 ms', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const { db } = context.service
    const { personal } = await givenWaiting(db, owner, { personal: 3, create_image: 0 })
    const { seq } = await rowOf(db, { id: personal[2] as string })
    const positions = queuePositions(db)
    const last = () => positions.of({ lane: 'personal', seq: Number(seq) })
    expect(await last()).toBe(3)
    await standInWorker(db).claim()
    vi.advanceTimersByTime(400)
    expect(await last()).toBe(3)
    vi.advanceTimersByTime(1)
    expect(await last()).toBe(2)
  })

  it('puts a new generation behind all that wait, before it is in the snapshot', async () => {
    const { db } = context.service
    const { personal } = await givenWaiting(db, owner, { personal: 10, create_image: 0 })
    await until(async () => (await position(owner, personal[9] as string)) === 10, 'a snapshot of this queue')
    // Within the life of that snapshot, which does not hold it.
    const { personal: newcomers } = await givenWaiting(db, owner, { personal: 1, create_image: 0 })
    expect(await position(owner, newcomers[0] as string)).toBe(11)
  })
})
