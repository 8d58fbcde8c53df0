import { expect, it, onTestFinished } from 'vitest'
import { startRetention } from '../../../src/core/generations/retention.js'
import { retentionStore } from '../../../src/db/generations/retention.js'
import { useDatabase } from '../../support/database.js'
import { givenImages } from '../../support/given-images.js'
import { givenUser } from '../../support/givens.js'
import { unguarded } from '../../support/unguarded.js'
import { until } from '../../support/until.js'

const context = useDatabase()
const KEPT = { prompts: 30, images: 30 }

it.each(['takedowns', 'image_moves'])(
  'leaves images alone while many %s are due, and soon looks again',
  async (queue) => {
    const { db } = context
    const rows = async (text: string, ...values: unknown[]) => (await db.pool.query(text, values)).rows
    const crowd = await givenImages(db, await givenUser(db), Array(1001).fill({}))
    const user = await givenUser(db, { subscription: null })
    const [slug] = await givenImages(db, user, [{ prompt: 'a fox' }])
    await db.pool.query(
      `BEGIN; SET LOCAL session_replication_role = replica;
     UPDATE generations SET created_at = now() - interval '31 days' WHERE user_id = '${user.id}'; COMMIT`,
    )
    await rows(`INSERT INTO ${queue} (slug) SELECT unnest($1::text[])`, crowd)
    await rows(`DELETE FROM leases`)

    const faults: unknown[] = []
    const store = retentionStore(db)
    let passes = 0
    const end: typeof store.end = async (...how) => {
      await store.end(...how)
      passes++
    }
    const retention = startRetention({
      ...{ store: { ...store, end }, kept: KEPT, log: { info: () => undefined } },
      onFault: (error) => faults.push(error),
    })
    onTestFinished(() => retention.stop())
    const left = async () =>
      (
        await rows(
          'SELECT prompt, removed_at IS NOT NULL AS removed FROM images i JOIN generations g ON g.id = i.generation_id WHERE slug = $1',
          slug,
        )
      )[0]
    await until(() => passes === 1, 'the end of the pass')
    expect(await left()).toEqual({ prompt: '', removed: false })
    const isSoon = `until < now() + interval '2 minutes'`
    expect(await rows(`SELECT FROM leases WHERE name = 'retention' AND ${isSoon}`)).toHaveLength(1)

    // Those that wait for another try hold up nobody.
    await rows(`UPDATE ${queue} SET due_at = now() + interval '1 hour'`)
    await rows(`UPDATE leases SET until = '-infinity' WHERE name = 'retention'`)
    await until(() => passes === 2, 'the end of the next pass')
    expect((await left()).removed).toBe(true)
    expect(await rows(`SELECT FROM leases WHERE name = 'retention' AND ${isSoon}`)).toEqual([])
    expect(faults).toEqual([])
    await rows(`DELETE FROM ${queue}`)
  },
)

it('goes on with other accounts where one fails, and tells of it', async () => {
  const { db } = context
  const rows = async (text: string, ...values: unknown[]) => (await db.pool.query(text, values)).rows
  const users = await Promise.all([1, 2, 3].map(() => givenUser(db, { subscription: null })))
  for (const user of users) await givenImages(db, user, [{ prompt: 'a fox' }])
  const ids = users.map(({ id }) => id)
  await unguarded(db, `UPDATE generations SET created_at = now() - interval '31 days' WHERE prompt = 'a fox'`)
  await rows(`DELETE FROM leases`)
  const store = retentionStore(db)
  // Of whichever comes first.
  let failing: string | undefined
  const emptyPrompts: typeof store.emptyPrompts = async (accountId, kept) => {
    failing ??= accountId
    if (accountId === failing) throw new Error('The file is lost.')
    return store.emptyPrompts(accountId, kept)
  }
  const faults: unknown[] = []
  const retention = startRetention({
    ...{ store: { ...store, emptyPrompts }, kept: KEPT, log: { info: () => undefined } },
    onFault: (error) => faults.push(error),
  })
  onTestFinished(() => retention.stop())
  await until(
    async () =>
      (await rows(`SELECT FROM generations WHERE user_id = ANY ($1) AND prompt = ''`, ids)).length === ids.length - 1,
    'the prompts of the others are empty',
  )
  await until(() => faults.length > 0, 'the fault is told')
  expect(String(faults[0])).toContain('The file is lost.')
})
