import { expect, it } from 'vitest'
import { moveToMonths } from '../../../src/core/generations/move-to-months.js'
import { imageDeletions } from '../../../src/db/gallery/deletions.js'
import { cancelStore } from '../../../src/db/generations/end.js'
import { historyStore } from '../../../src/db/generations/history.js'
import { monthStore } from '../../../src/db/generations/move-to-months.js'
import { imagePrivacy } from '../../../src/db/images/privacy.js'
import { operatorImageStore } from '../../../src/db/images/removals.js'
import { useEasel } from '../../cli/easel.js'
import { givenImages } from '../../support/given-images.js'
import { creditsOf, givenGeneration, givenUser } from '../../support/givens.js'
import { age } from '../../support/moved-to-months.js'

const easel = useEasel()
const OLD = 60
const USERS = 4

it('lets submits, refunds, changes of images, deletions and reads go on, and loses none of them', async () => {
  const { db } = easel
  const users = await Promise.all(Array.from({ length: USERS }, () => givenUser(db, { credits: 1000 })))
  const slugs = new Map<string, string[]>()
  for (const user of users) slugs.set(user.id, await givenImages(db, user, Array(OLD).fill({})))
  await age(db)

  const store = monthStore(db)
  // In small steps, so that much happens between them.
  const inSmallSteps = {
    ...store,
    async move(ids: readonly string[]) {
      let moved = 0
      for (let from = 0; from < ids.length; from += 5) moved += await store.move(ids.slice(from, from + 5))
      return moved
    },
  }
  let isMoving = true
  const mover = (async () => {
    // What others held the first time moves with a later pass.
    for (let rest = -1; rest !== 0; ) {
      const { generations } = await moveToMonths(inSmallSteps, 1, new AbortController().signal)
      const { rows } = await db.pool.query(`SELECT FROM generations WHERE finished_at < now() - interval '50 days'`)
      rest = generations + rows.length
    }
    isMoving = false
  })()
  const rounds = users.map(async (user, n) => {
    const own = slugs.get(user.id) as string[]
    let isPrivate = false
    do {
      const { id } = await givenGeneration(db, user)
      isPrivate = !isPrivate
      expect(await imagePrivacy(db).set(user.id, own, isPrivate)).toBe(OLD)
      expect(await imageDeletions(db).begin(user.id, own, 600)).toBe(OLD)
      expect(await imageDeletions(db).undo(user.id)).toBe(OLD)
      await cancelStore(db).cancel(id, 'Canceled.', { onlyQueued: true })
      const page = await historyStore(db).generations(
        user.id,
        { status: 'succeeded' },
        { limit: 100, after: undefined },
      )
      expect(page.items.length).toBe(OLD)
    } while (isMoving)
    if (n === 0) expect(await operatorImageStore(db).wipePromptsOf(user.id)).toBeGreaterThanOrEqual(OLD)
    expect(await creditsOf(db, user)).toBe(1000)
    const { rows } = await db.pool.query('SELECT private FROM all_images WHERE slug = ANY ($1)', [own])
    expect(rows).toEqual(Array(OLD).fill({ private: isPrivate }))
  })
  await Promise.all([mover, ...rounds])
  const { rows } = await db.pool.query('SELECT count(*)::integer AS moved FROM all_images WHERE month IS NOT NULL')
  expect(rows).toEqual([{ moved: USERS * OLD }])
  const { checks } = JSON.parse((await easel.run('audit --json')).stdout)
  const money = checks.filter((it: { name: string }) => /ledger|balance|exactly-once|credits/.test(it.name))
  expect(money.filter((it: { violations: number }) => it.violations > 0)).toEqual([])
})
