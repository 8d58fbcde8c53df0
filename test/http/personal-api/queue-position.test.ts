import { beforeEach, describe, expect, it } from 'vitest'
import type { Lane } from '../../../src/generation/generation.js'
import { call } from '../../support/client.js'
import { type GivenUser, givenUser, givenWaiting } from '../../support/givens.js'
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
    await db.pool.query('DELETE FROM generations; UPDATE queue_turn SET create_image_streak = 0')
    owner = await givenUser(db)
  })

  it.each([
    ['both lanes', { personal: 70, create_image: 130 }, 0],
    ['both lanes, in the midst of a run of Create Image', { personal: 130, create_image: 70 }, 2],
    ['both lanes, after a full run of Create Image', { personal: 5, create_image: 40 }, 3],
    ['the personal lane alone', { personal: 60, create_image: 0 }, 3],
    ['the Create Image lane alone', { personal: 0, create_image: 60 }, 1],
  ])('counts every place exactly over %s', async (_name, counts, streak) => {
    const { db } = context.service
    await db.pool.query('UPDATE queue_turn SET create_image_streak = $1', [streak])
    const lanes = await givenWaiting(db, owner, counts)
    const order = playThrough(lanes, streak)
    const [first] = order
    await until(async () => (await position(owner, first as string)) === 1, 'a snapshot of this queue')
    expect(await positions(owner, order)).toEqual(order.map((_id, index) => index + 1))
  })

  it('is the order in which generations are claimed', async () => {
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

  it('is right again within half a second after claims', async () => {
    const { db } = context.service
    const { personal } = await givenWaiting(db, owner, { personal: 30, create_image: 0 })
    const last = personal.at(-1) as string
    await until(async () => (await position(owner, last)) === 30, 'a snapshot of this queue')
    for (let left = 29; left > 20; left -= 3) {
      for (let n = 0; n < 3; n++) await standInWorker(db).claim()
      const claimedAt = performance.now()
      let wrongAt = claimedAt
      await until(async () => {
        const askedAt = performance.now()
        if ((await position(owner, last)) === left - 2) return true
        wrongAt = askedAt
        return false
      }, 'the right place')
      expect(wrongAt - claimedAt).toBeLessThan(500)
    }
  })

  it('counts a newcomer behind all that wait', async () => {
    const { db } = context.service
    const { personal } = await givenWaiting(db, owner, { personal: 10, create_image: 0 })
    await until(async () => (await position(owner, personal[9] as string)) === 10, 'a snapshot of this queue')
    // Within the life of that snapshot, which does not hold it.
    const { personal: newcomers } = await givenWaiting(db, owner, { personal: 1, create_image: 0 })
    expect(await position(owner, newcomers[0] as string)).toBe(11)
  })
})
