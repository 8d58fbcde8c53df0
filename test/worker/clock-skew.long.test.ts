import { describe, it } from 'vitest'
import { parseConfig } from '../../src/process/config.js'
import { startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import { call, PROMPT } from '../support/client.js'
import { patientDatabase } from '../support/database.js'
import { chargesOf, givenUser, rowOf } from '../support/givens.js'
import { startServerProcess } from '../support/server-process.js'
import { createTestDatabase, redisAvailable, redisUrl } from '../support/services.js'
import { until } from '../support/until.js'
import { startWorkerProcess } from '../support/worker-process.js'
import { aPass } from './reconciler.js'

const HOUR_MS = 3_600_000

/** Sets the process's clock ahead, or back; what Node measures durations with is not touched. */
const shifted = (byMs: number) => {
  const code = `
    const Real = Date
    globalThis.Date = class Date extends Real {
      constructor(...given) { given.length ? super(...given) : super(Real.now() + ${byMs}) }
      static now() { return Real.now() + ${byMs} }
    }`
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(code)}` }
}

describe('a server and a worker whose clocks are wrong', () => {
  it.for([
    ['an hour ahead', 'an hour back', HOUR_MS],
    ['an hour back', 'an hour ahead', -HOUR_MS],
  ] as const)(
    'run a generation once, and count requests rightly (server %s, worker %s)',
    async ([, , byMs], { expect, onTestFinished }) => {
      const gpu = await startA1111StandIn()
      onTestFinished(() => gpu.close())
      gpu.set({ held: true })
      const { url: databaseUrl } = await createTestDatabase()
      const db = patientDatabase(databaseUrl, 2)
      onTestFinished(() => db.pool.end())
      const env = {
        ...{ DATABASE_URL: databaseUrl, RATE_LIMIT_WINDOW_SECONDS: '600' },
        ...(redisAvailable && { REDIS_URL: await redisUrl() }),
      }
      const serving = await startServerProcess({ ...env, ...shifted(byMs) })
      onTestFinished(() => serving.stop())
      const config = parseConfig({ ...env, STORAGE_URL: `file:${serving.storagePath}` })
      const working = await startWorkerProcess(config, { INFERENCE_URL: gpu.inferenceUrl, ...shifted(-byMs) })
      onTestFinished(async () => {
        working.kill('SIGKILL')
        await working.ended
      })

      const user = await givenUser(db)
      const body = { ...PROMPT, width: 256, height: 256 }
      const { status, body: submitted } = await call(serving.url, 'POST', '/api/v1/generate', { key: user.key, body })
      expect(status).toBe(201)
      const row = () => rowOf(db, submitted)
      const first = await until(async () => (await row()).lease_until, 'the start')
      // Postgres's clock is everyone's: half an hour is as far from an hour as from now.
      expect(Math.abs(Date.parse(submitted.created_at) - Date.now())).toBeLessThan(HOUR_MS / 2)
      expect(Math.abs(first - Date.now())).toBeLessThan(HOUR_MS / 2)
      await until(async () => (await row()).lease_until > first, 'the lease being renewed')
      // The reconciler has looked for lost attempts since.
      await aPass(db)
      gpu.set({ held: false })
      await until(async () => (await row()).finished_at, 'the end')
      expect(await row()).toMatchObject({ status: 'succeeded', attempt: 1, tries: 0 })
      expect(await chargesOf(db, user)).toEqual([['charge', -1]])

      const other = await givenUser(db)
      const answers = []
      for (let n = 0; n < 11; n++) answers.push(await call(serving.url, 'GET', '/api/v1/account', { key: other.key }))
      expect(answers.map((answer) => answer.status)).toEqual([...Array(10).fill(200), 429])
      const retryAfter = Number(answers.at(-1)?.headers.get('retry-after'))
      expect(retryAfter).toBeGreaterThanOrEqual(1)
      expect(retryAfter).toBeLessThanOrEqual(600)
    },
  )
})
