import { expect, it } from 'vitest'
import type { ClaimedMove } from '../../../src/core/images/privacy.js'
import { imageMoves, imagePrivacy } from '../../../src/db/images/privacy.js'
import { useDatabase } from '../../support/database.js'
import { givenImages } from '../../support/given-images.js'
import { givenUser } from '../../support/givens.js'

const context = useDatabase()

/** An image that has just become private, and what a server, and the one after it, do about it. */
async function given() {
  const { db } = context
  const owner = await givenUser(db)
  const [slug = ''] = await givenImages(db, owner, [{}])
  const setPrivate = (isPrivate: boolean) => imagePrivacy(db).set(owner.id, [slug], isPrivate)
  await setPrivate(true)
  const moves = imageMoves(db)
  const row = async (what: string) =>
    (await db.pool.query(`SELECT ${what} AS it FROM image_moves WHERE slug = $1`, [slug])).rows[0]?.it
  return {
    ...{ slug, moves, setPrivate },
    claimed: async () => (await moves.claimDue()).find((it) => it.slug === slug) as ClaimedMove,
    /** As if the server had died, and its lease had ended. */
    leaseEnds: () => db.pool.query('UPDATE image_moves SET due_at = now() WHERE slug = $1', [slug]),
    endsSoon: () => row(`due_at BETWEEN now() AND now() + interval '15 seconds'`),
    waitsLong: () => row(`due_at > now() + interval '2 minutes'`),
  }
}

it('the move of a server that died is made by another one within seconds, and the first one can do nothing about it any more', async () => {
  const { slug, moves, claimed, leaseEnds, endsSoon } = await given()
  const first = await claimed()
  expect(await endsSoon()).toBe(true)
  expect(await claimed()).toBeUndefined()
  const renewed = await moves.renew(slug, first.lease)
  expect(await moves.renew(slug, first.lease)).toBeUndefined()
  expect(await moves.renew(slug, renewed as string)).toBeDefined()
  expect(await endsSoon()).toBe(true)
  await leaseEnds()
  const second = await claimed()
  expect(second).toMatchObject({ slug, isPrivate: true, attempts: 2 })
  expect(await moves.renew(slug, renewed as string)).toBeUndefined()
  expect(await moves.beginRemoval(slug, renewed as string)).toBeUndefined()
  await moves.postpone(first, true)
  await moves.finish(first)
  expect(await endsSoon()).toBe(true)
  await moves.finish(second)
  expect(await endsSoon()).toBeUndefined()
})

it('what a server was removing when it died is not brought back while the store may still remove it', async () => {
  const { slug, moves, claimed, setPrivate, leaseEnds, waitsLong } = await given()
  const first = await claimed()
  expect(await moves.beginRemoval(slug, first.lease)).toMatchObject({ isOtherRemoving: false })
  await leaseEnds()
  await setPrivate(false)
  expect(await waitsLong()).toBe(true)
})

it('nor once another server has made that move again', async () => {
  const { slug, moves, claimed, setPrivate, leaseEnds, waitsLong } = await given()
  await moves.beginRemoval(slug, (await claimed()).lease)
  await leaseEnds()
  const second = await claimed()
  const begun = await moves.beginRemoval(slug, second.lease)
  expect(begun).toMatchObject({ isOtherRemoving: true })
  await moves.finish(second, begun?.isOtherRemoving)
  expect(await waitsLong()).toBe(true)
  await setPrivate(false)
  expect(await waitsLong()).toBe(true)
})

it('an image that its owner changes back while a server removes files is due at once when that has ended', async () => {
  const { slug, moves, claimed, setPrivate } = await given()
  const move = await claimed()
  await moves.beginRemoval(slug, move.lease)
  await setPrivate(false)
  await moves.finish(move)
  expect(await claimed()).toMatchObject({ slug, isPrivate: false })
})
