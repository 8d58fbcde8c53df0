import { getEventListeners } from 'node:events'
import { expect, it, onTestFinished } from 'vitest'
import { hashApiKey } from '../../../src/core/accounts/api-key.js'
import { createFollowing, type GenerationWatch } from '../../../src/core/generations/follow/follow.js'
import type { QueuePositions } from '../../../src/core/generations/follow/poll.js'
import { accountStore } from '../../../src/db/accounts/accounts.js'
import { durationEstimates, queuePositions } from '../../../src/db/generations/estimates.js'
import { postgresPreviewBoard, postgresProgressBoard } from '../../../src/db/generations/live-boards.js'
import { generationWatch, pollStore } from '../../../src/db/generations/poll.js'
import type { PersonalApiOptions } from '../../../src/http/personal-api/plugin.js'
import { buildBareApp } from '../../support/bare-app.js'
import { call } from '../../support/client.js'
import { patientDatabase } from '../../support/database.js'
import { openEvents } from '../../support/event-source.js'
import { type GivenUser, givenGeneration, givenUser } from '../../support/givens.js'
import { createTestDatabase } from '../../support/services.js'
import { until } from '../../support/until.js'

/** The server over its real stores, which are counted on the way. */
async function givenServer() {
  const database = await createTestDatabase()
  const db = patientDatabase(database.url, 10)
  const notices = generationWatch(db, database.url, () => undefined)
  const seen = { watched: 0, placed: [] as number[], keys: [] as string[] }
  const watch: GenerationWatch['watch'] = (...args) => {
    seen.watched++
    const unwatch = notices.watch(...args)
    return () => {
      seen.watched--
      unwatch()
    }
  }
  const all = queuePositions(db)
  const positions: QueuePositions = {
    of(one) {
      seen.placed.push(one.seq)
      return all.of(one)
    },
  }
  const progress = postgresProgressBoard(db)
  const ports = {
    ...{ positions, progress, polls: pollStore(db), estimates: durationEstimates(db), images: { url: String } },
    following: createFollowing({ watch: { watch }, positions, progress, previews: postgresPreviewBoard(db) }),
  } as unknown as PersonalApiOptions['ports']
  const store = accountStore(db)
  const accounts = {
    ...store,
    findCallers: (hashes: readonly Buffer[]) => {
      seen.keys.push(...hashes.map((hash) => hash.toString('hex')))
      return store.findCallers(hashes)
    },
  }
  const counter = { hit: async () => ({ current: 1, ttlMs: 1000 }) }
  const leaving = new AbortController().signal
  const authentication = { accounts, guesses: counter, keyPrefix: 'easel' }
  const limit = { counter, max: 10, windowSeconds: 10 }
  const app = await buildBareApp({ personal: { ports, authentication, limit, leaving } })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(async () => {
    await app.close()
    await notices.close()
    await db.pool.end()
  })
  return { db, url, seen, leaving }
}

it('closed streams and long polls leave no follower, no waiter and no key to look up behind', async () => {
  const { db, url, seen, leaving } = await givenServer()
  const owner = await givenUser(db)
  const { id } = await givenGeneration(db, owner)
  const listen = async ({ key }: GivenUser, about: string) => {
    const source = await openEvents(url, key, about)
    await source.seen('status')
    return source
  }
  for (let round = 0; round < 2; round++) {
    const gone = new AbortController()
    const ask = { key: owner.key, signal: gone.signal }
    const polls = Array.from({ length: 8 }, () => call(url, 'GET', `/api/v1/generate/${id}?wait=30`, ask))
    const ended = Promise.allSettled(polls)
    const streams = await Promise.all(polls.map(() => listen(owner, id)))
    await until(() => seen.watched === 16, 'all that listen')
    gone.abort()
    for (const { close } of streams) close()
    await until(() => seen.watched === 0, 'the end of all')
    await ended
  }
  expect(getEventListeners(leaving, 'abort')).toEqual([])

  const other = await givenUser(db)
  const { id: others } = await givenGeneration(db, other)
  const last = await listen(other, others)
  onTestFinished(last.close)
  // What was under way when the others left is over with the next look.
  const looks = (count: number) => until(() => seen.placed.length >= count, 'looks at places')
  await looks(seen.placed.length + 2)
  seen.placed = []
  seen.keys = []
  await looks(4)
  expect(new Set(seen.placed).size).toBe(1)
  await until(() => seen.keys.length > 0, 'a look at the keys')
  expect(new Set(seen.keys)).toEqual(new Set([hashApiKey(other.key).toString('hex')]))
})
