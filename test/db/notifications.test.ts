import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { waitForEnd } from '../../src/core/generations/follow/follow.js'
import { createDatabase } from '../../src/db/client.js'
import { generationWatch } from '../../src/db/generations/poll.js'
import { listenTo } from '../../src/db/notifications.js'
import { useDatabase } from '../support/database.js'
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.js'
import { givenGeneration, givenUser, givenWaiting } from '../support/givens.js'
import { standInWorker } from '../support/stand-in-worker.js'
import { until } from '../support/until.js'

const context = useDatabase()
const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})
const quiet = () => undefined

describe('a listener', () => {
  const ends = {
    'cut by the network': async () => {
      await proxy.refuse()
      await proxy.pass()
    },
    'left hanging': async () => proxy.stall(),
    'ended by the server': () =>
      context.db.pool.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE application_name = 'easel listen' AND datname = current_database()`,
      ),
  }
  let proxy: FaultProxy
  beforeEach(async () => {
    proxy = await startFaultProxy(context.url)
    closers.push(() => proxy.close())
  })

  it.each(['cut by the network', 'left hanging', 'ended by the server'] as const)(
    'gets notices again after its connection was %s',
    async (how) => {
      const received: string[] = []
      const lost: Error[] = []
      const listener = listenTo(
        proxy.through(context.url),
        'received',
        (payload) => received.push(payload),
        (error) => lost.push(error),
        50,
      )
      closers.push(() => listener.close())
      const notify = async (text: string) => {
        await context.db.pool.query(`SELECT pg_notify('received', $1)`, [text])
        return received.includes(text)
      }
      await until(() => notify('before'), 'the first notice')
      await ends[how]()
      await until(() => lost.length > 0, 'the end being told')
      await proxy.pass()
      await until(() => notify('after'), 'a notice after the outage')
    },
  )
})

describe('whoever waits for generations', () => {
  function waiting(url = context.url, db = context.db, onError: (error: Error) => void = quiet) {
    const watch = generationWatch(db, url, onError)
    closers.push(() => watch.close())
    return (id: string, timeoutMs = 60_000) => waitForEnd(watch, id, timeoutMs, [])
  }

  it('learns of each of a hundred that end at the same time', async () => {
    const wait = waiting()
    const developer = await givenUser(context.db, { developer: { concurrency: 1000 } })
    const { personal: ids } = await givenWaiting(context.db, developer, { personal: 100, create_image: 0 })
    const ended = ids.map((id) => wait(id))
    const worker = standInWorker(context.db)
    const claimed = []
    for (const _ of ids) claimed.push(await worker.claim())
    // No more at once than there are connections.
    for (let from = 0; from < claimed.length; from += 25)
      await Promise.all(claimed.slice(from, from + 25).map((generation) => worker.succeed(generation)))
    const views = await Promise.all(ended)
    expect(views.map((view) => [view?.id, view?.status])).toEqual(ids.map((id) => [id, 'succeeded']))
  })

  it('learns of an end whose notice never comes, and of an end before it began to wait', async () => {
    const proxy = await startFaultProxy(context.url)
    closers.push(() => proxy.close())
    await proxy.refuse()
    const wait = waiting(proxy.through(context.url))
    const { id } = await givenGeneration(context.db, await givenUser(context.db))
    const ended = wait(id)
    await standInWorker(context.db).fail(await standInWorker(context.db).claim(), 'It failed.')
    expect(await ended).toMatchObject({ id, status: 'failed', error: 'It failed.' })
    // Too short for another look.
    await until(async () => (await wait(id, 900))?.status === 'failed', 'the end being seen at the first look')
  })

  it('learns of an end that came while Postgres could not be asked, also if that was so from the beginning', async () => {
    const proxy = await startFaultProxy(context.url)
    closers.push(() => proxy.close())
    await proxy.refuse()
    const db = createDatabase(proxy.through(context.url), { maxConnections: 2, onError: quiet })
    closers.push(() => db.pool.end())
    const failures: Error[] = []
    const wait = waiting(proxy.through(context.url), db, (error) => failures.push(error))
    const { id } = await givenGeneration(context.db, await givenUser(context.db))
    const ended = wait(id)
    await until(() => failures.length >= 2, 'a look and a LISTEN that failed')
    await standInWorker(context.db).fail(await standInWorker(context.db).claim(), 'It failed.')
    await proxy.pass()
    expect(await ended).toMatchObject({ id, status: 'failed' })
  })
})
