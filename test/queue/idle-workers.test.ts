import { afterEach, describe, expect, it } from 'vitest'
import { call, endOf, PROMPT } from '../support/client.js'
import { givenGeneration, givenUser, rowOf } from '../support/givens.js'
import { type Service, startService } from '../support/service.js'
import { redisAvailable } from '../support/services.js'
import { until } from '../support/until.js'
import { startWorkerProcess } from '../support/worker-process.js'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** A worker looks every 2 s; by itself it would be 5 s until its next check of the server. The rest is for a busy machine. */
const PROMPT_MS = 4500

async function serviceOn(redis: boolean): Promise<Service> {
  // Worker processes know no test namespace.
  const service = await startService({ redis, env: { RATE_LIMIT_MAX: '100000' }, server: { namespace: 'easel' } })
  closers.push(() => service.close())
  return service
}

async function waitOf(service: Service, id: string): Promise<number> {
  const row = await until(async () => {
    const seen = await rowOf(service.db, { id })
    return seen.started_at && seen
  }, 'the start')
  return row.started_at - row.created_at
}

describe.each([
  ['Redis', true],
  ['one machine', false],
])('an idle worker on %s', (_mode, redis) => {
  const on = it.skipIf(redis && !redisAvailable)

  on('starts what nothing rings for', async () => {
    const service = await serviceOn(redis)
    await service.worker({ namespace: 'easel' })
    const seenAt = async () => (await service.db.pool.query('SELECT seen_at FROM backends')).rows[0]?.seen_at.getTime()
    const before = await until(seenAt, 'the worker')
    // Right after a check of the server, so that the next one is as far away as can be.
    await until(async () => (await seenAt()) > before, 'its next check')
    const { id } = await givenGeneration(service.db, await givenUser(service.db), { width: 256, height: 256 })
    await service.db.pool.query('DELETE FROM unrung WHERE generation_id = $1', [id])
    expect(await waitOf(service, id)).toBeLessThan(PROMPT_MS)
  })

  on('starts at once what is rung for, although another one has stopped in its tracks', async () => {
    const service = await serviceOn(redis)
    const other = await startWorkerProcess(service.config, {})
    closers.push(async () => {
      other.kill('SIGKILL')
      await other.ended
    })
    await service.worker({ namespace: 'easel' })
    const up = () => service.db.pool.query('SELECT 1 FROM backends WHERE up')
    await until(async () => (await up()).rowCount === 2, 'both workers')
    other.kill('SIGSTOP')
    for (let n = 0; n < 3; n++) {
      const user = await givenUser(service.db)
      const body = { ...PROMPT, width: 256, height: 256 }
      const submitted = await call(service.url, 'POST', '/api/v1/generate', { key: user.key, body })
      expect(await waitOf(service, submitted.body.id)).toBeLessThan(PROMPT_MS)
      expect(await endOf(service, user, submitted.body.id)).toMatchObject({ status: 'succeeded' })
    }
  })
})
