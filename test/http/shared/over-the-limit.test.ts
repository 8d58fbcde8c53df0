import { describe, expect, it, onTestFinished } from 'vitest'
import { newApiKey } from '../../../src/core/accounts/api-key.js'
import { accountStore } from '../../../src/db/accounts/accounts.js'
import { localSlidingWindow } from '../../../src/redis/sliding-window.js'
import { type BareOptions, buildBareApp } from '../../support/bare-app.js'
import { call } from '../../support/client.js'
import { useDatabase } from '../../support/database.js'
import { givenUser } from '../../support/givens.js'
import { until } from '../../support/until.js'

const context = useDatabase()

/** Real look-ups and a real count, by a clock that stands still until it is set. */
async function givenServer(options: BareOptions = {}) {
  const clock = { now: 0 }
  const counter = localSlidingWindow(() => clock.now)
  const app = await buildBareApp({ accounts: accountStore(context.db), counter, ...options })
  onTestFinished(() => app.close())
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  let arrived = 0
  app.server.on('request', () => arrived++)
  const send = (path: string, key = newApiKey('easel')) =>
    call(url, path.startsWith('/v1') ? 'POST' : 'GET', path, { key, ...(path.startsWith('/v1') && { body: {} }) })
  return { clock, send, arrived: () => arrived }
}

const times = <T>(count: number, send: () => Promise<T>) => Promise.all(Array.from({ length: count }, send))

describe('the rate limit', () => {
  it('slides: the first place is free when the first request is a window old, and only that one', async () => {
    const { clock, send } = await givenServer()
    const { key } = await givenUser(context.db)
    const statuses = async (count: number) =>
      (await times(count, () => send('/api/v1/account', key))).map(({ status }) => status).sort()
    expect(await statuses(1)).toEqual([200])
    clock.now = 300
    expect(await statuses(10)).toEqual([...Array(9).fill(200), 429])
    clock.now = 9999
    expect(await statuses(1)).toEqual([429])
    clock.now = 10_000
    // A fixed window would now have room for ten.
    expect(await statuses(2)).toEqual([200, 429])
    clock.now = 10_300
    expect(await statuses(10)).toEqual([...Array(9).fill(200), 429])
  })

  it.each(['/api/v1/account', '/v1/images/generate'])(
    'never tells a client to come back in less than a second (%s)',
    async (path) => {
      const { clock, send } = await givenServer()
      const { key } = await givenUser(context.db)
      await times(10, () => send(path, key))
      clock.now = 9600
      const limited = await send(path, key)
      expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '1'])
      await times(30, () => send(path))
      clock.now = 9600 + 59_600
      for (const guess of await times(2, () => send(path)))
        expect([guess.status, guess.headers.get('retry-after')]).toEqual([429, '1'])
    },
  )
})

describe('an address that has guessed too often', () => {
  it('costs Postgres one query at a time, each after a pause, and its valid keys still work', async () => {
    const store = accountStore(context.db)
    const seen = { queries: 0, atOnce: 0, mostAtOnce: 0, pauses: 0 }
    let letGo = () => {}
    const held = new Promise<void>((resolve) => (letGo = resolve))
    const findCallers = async (hashes: readonly Buffer[]) => {
      seen.queries++
      seen.mostAtOnce = Math.max(seen.mostAtOnce, ++seen.atOnce)
      await held
      return store.findCallers(hashes).finally(() => seen.atOnce--)
    }
    let resume = () => {}
    const slowBatch = () => {
      seen.pauses++
      return new Promise<void>((resolve) => (resume = resolve))
    }
    const { send, arrived } = await givenServer({ accounts: { ...store, findCallers }, slowBatch })
    const { key } = await givenUser(context.db)
    await times(31, () => send('/api/v1/account'))
    const first = send('/api/v1/account')
    await until(() => seen.pauses === 1, 'the first pause')
    expect(seen.queries).toBe(0)
    resume()
    await until(() => seen.queries === 1, 'the first query')

    const answers = Promise.all([
      times(100, () => send('/api/v1/account')),
      times(10, () => send('/api/v1/account', key)),
    ])
    await until(() => arrived() === 31 + 1 + 110, 'all requests')
    resume()
    expect(seen).toMatchObject({ queries: 1, pauses: 2 })
    letGo()
    const [guesses, valid] = await answers
    expect(seen).toMatchObject({ queries: 2, pauses: 2, mostAtOnce: 1 })
    expect(new Set([await first, ...guesses].map(({ status }) => status))).toEqual(new Set([429]))
    expect(valid.map(({ status }) => status)).toEqual(Array(10).fill(200))
  })
})
