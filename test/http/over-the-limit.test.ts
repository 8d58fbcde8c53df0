import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { AccountStore } from '../../src/account/account.js'
import { newApiKey } from '../../src/account/api-key.js'
import { accountStore } from '../../src/db/account-store.js'
import { createDatabase, type Database } from '../../src/db/client.js'
import { localSlidingWindow } from '../../src/redis/sliding-window.js'
import { buildBareApp } from '../support/bare-app.js'
import { call } from '../support/client.js'
import { givenUser } from '../support/givens.js'
import { createTestDatabase } from '../support/services.js'

let db: Database
beforeAll(async () => {
  db = createDatabase((await createTestDatabase()).url, { maxConnections: 5, onError: () => undefined })
})
afterAll(() => db?.pool.end())

/** Real look-ups and a real count, by a clock that stands still until it is set. */
async function givenServer(accounts: AccountStore = accountStore(db)) {
  const clock = { now: 0 }
  const app = await buildBareApp({ accounts, counter: localSlidingWindow(() => clock.now) })
  onTestFinished(() => app.close())
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const send = (path: string, key = newApiKey('easel')) =>
    call(url, path.startsWith('/v1') ? 'POST' : 'GET', path, { key, ...(path.startsWith('/v1') && { body: {} }) })
  return { clock, send }
}

const times = <T>(count: number, send: () => Promise<T>) => Promise.all(Array.from({ length: count }, send))

describe('Retry-After', () => {
  it.each(['/api/v1/account', '/v1/images/generate'])('is never less than a second on %s', async (path) => {
    const { clock, send } = await givenServer()
    const { key } = await givenUser(db)
    await times(10, () => send(path, key))
    clock.now = 9600
    const limited = await send(path, key)
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '1'])
    await times(30, () => send(path))
    clock.now = 9600 + 59_600
    for (const guess of await times(2, () => send(path)))
      expect([guess.status, guess.headers.get('retry-after')]).toEqual([429, '1'])
  })
})

describe('an address that has guessed too often', () => {
  it('costs Postgres one query at a time, twenty a second at most, and its valid keys still work', async () => {
    const store = accountStore(db)
    let queries = 0
    let atOnce = 0
    let mostAtOnce = 0
    const counted = async <T>(query: Promise<T>): Promise<T> => {
      queries++
      mostAtOnce = Math.max(mostAtOnce, ++atOnce)
      return query.finally(() => atOnce--)
    }
    const { send } = await givenServer({
      findCaller: (hash) => counted(store.findCaller(hash)),
      findCallers: (hashes) => counted(store.findCallers(hashes)),
    })
    const { key } = await givenUser(db)
    await times(31, () => send('/api/v1/account'))
    queries = mostAtOnce = 0
    const from = performance.now()
    const [guesses, valid] = await Promise.all([
      times(300, () => send('/api/v1/account')),
      times(10, () => send('/api/v1/account', key)),
    ])
    // A timer may be a moment early.
    expect(queries).toBeLessThanOrEqual(1 + (performance.now() - from) / 45)
    expect(mostAtOnce).toBe(1)
    expect(new Set(guesses.map(({ status }) => status))).toEqual(new Set([429]))
    expect(valid.map(({ status }) => status)).toEqual(Array(10).fill(200))
  })
})
