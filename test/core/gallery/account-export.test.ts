import { afterEach, expect, it, vi } from 'vitest'
import { beginExport } from '../../../src/core/gallery/account-export.js'
import { FileUnreadable } from '../../../src/core/images/read-each.js'
import { operatorUserStore } from '../../../src/db/accounts/accounts.js'
import { takeName } from '../../../src/db/accounts/purges.js'
import { accountExports } from '../../../src/db/gallery/account-export.js'
import { reconcileStore } from '../../../src/db/generations/reconcile.js'
import { zipOf } from '../../../src/images/image-downloads.js'
import { en } from '../../../src/web/texts/texts.js'
import { useDatabase } from '../../support/database.js'
import { givenImages } from '../../support/given-images.js'
import { givenUser } from '../../support/givens.js'
import { until } from '../../support/until.js'
import { unzipped } from '../../support/unzip.js'

const context = useDatabase()
afterEach(() => void vi.useRealTimers())

async function given({ images = 1, read = async () => Buffer.from('png') } = {}) {
  const { db } = context
  const user = await givenUser(db)
  await givenImages(db, user, Array(images).fill({}))
  const exports = accountExports(db)
  const begin = (more: Partial<typeof exports> = {}, isAllowed?: () => Promise<boolean>) =>
    beginExport({ exports: { ...exports, ...more }, files: { read } }, user, en.accountExport, isAllowed)
  const isHeld = async () =>
    (await db.pool.query('SELECT FROM leases WHERE name = $1', [`export:${user.id}`])).rowCount === 1
  return { user, begin, isHeld, ended: () => until(async () => !(await isHeld()), 'the end of the hold') }
}

/** As if the reader had paused. */
const pause = () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  vi.setSystemTime(Date.now() + 6000)
}

async function rest(files: AsyncIterable<unknown>) {
  for await (const _ of files);
}

it('ends when another export has begun since, and leaves that one alone', async () => {
  const { user, begin, isHeld } = await given()
  const first = await begin()
  await first.next()
  await context.db.pool.query(`UPDATE leases SET until = now() - interval '1 second' WHERE name = 'export:' || $1`, [
    user.id,
  ])
  const second = await begin()
  pause()
  await expect(rest(first)).rejects.toThrow('another one has begun')
  expect(await isHeld()).toBe(true)
  await rest(second)
  expect(await isHeld()).toBe(false)
})

it('ends when the account is deleted or wiped, or who asked for it may not have it any more', async () => {
  const { db } = context
  const ends: ((id: string) => Promise<unknown>)[] = [
    (id) => operatorUserStore(db).delete(id),
    (id) => takeName(db, id),
    async () => undefined,
  ]
  for (const [n, end] of ends.entries()) {
    const { user, begin } = await given()
    const files = await begin({}, async () => n < 2)
    await files.next()
    await end(user.id)
    pause()
    await expect(rest(files)).rejects.toThrow('the account or the session is over')
    vi.useRealTimers()
  }
})

it('goes on when it is asked for late and nothing has changed', async () => {
  const { begin, isHeld } = await given()
  const files = await begin()
  await files.next()
  pause()
  await rest(files)
  expect(await isHeld()).toBe(false)
})

it('reads a file again that could not be read at first', async () => {
  let tries = 0
  const read = async () => {
    if (++tries < 3) throw new Error('the store is away')
    return Buffer.from('png')
  }
  const { begin } = await given({ read })
  const files = unzipped(Buffer.concat(await zipOf(await begin()).toArray()))
  expect([...files.keys()].filter((it) => it.startsWith('images/'))).toHaveLength(1)
})

it('names what cannot be read at its end, images and files of the archive, and goes on with the others', async () => {
  let asked = 0
  const read = async () => {
    if (++asked === 2) throw new FileUnreadable('in cold storage', 'InvalidObjectState')
    return Buffer.from('png')
  }
  const { begin } = await given({ images: 3, read })
  const files = unzipped(Buffer.concat(await zipOf(await begin({ unreadable: async () => ['a file'] })).toArray()))
  expect([...files.keys()].filter((it) => it.startsWith('images/'))).toHaveLength(2)
  expect(String(files.get('missing.txt'))).toMatch(/^archive a file\n[0-9A-Za-z]{22}\n$/)
})

it('asks again for rows that Postgres did not give at first', async () => {
  const { db } = context
  const { user } = await given()
  let tries = 0
  const query = (...asked: Parameters<typeof db.pool.query>) => {
    if (++tries < 3) throw new Error('Postgres is away')
    return db.pool.query(...asked)
  }
  const exports = accountExports({ ...db, pool: { ...db.pool, query } as typeof db.pool })
  const files = await beginExport(
    { exports: { ...exports, hold: async () => true }, files: { read: async () => undefined } },
    user,
    en.accountExport,
  )
  const json = unzipped(Buffer.concat(await zipOf(files).toArray())).get('account.json')
  expect(JSON.parse(String(json))).toMatchObject([{ username: user.username }])
})

it('is not held any more once a page has failed, or the reader has gone before reading anything', async () => {
  const { begin, ended } = await given()
  const failing = {
    rows: async function* () {
      yield ['{}']
      throw new Error('Postgres is away')
    },
  }
  await expect(zipOf(await begin(failing)).toArray()).rejects.toThrow('Postgres is away')
  await ended()
  zipOf(await begin()).destroy()
  await ended()
  await rest(await begin())
})

it('is forgotten an hour after a process could not end it', async () => {
  const { user, begin, isHeld } = await given()
  await begin()
  const clean = () => reconcileStore(context.db, { refundFailed: true }).clean()
  await clean()
  expect(await isHeld()).toBe(true)
  await context.db.pool.query(`UPDATE leases SET until = now() - interval '61 minutes' WHERE name = 'export:' || $1`, [
    user.id,
  ])
  await clean()
  expect(await isHeld()).toBe(false)
})
