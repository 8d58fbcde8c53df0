import { Redis } from 'ioredis'
import { expect, it, onTestFinished } from 'vitest'
import { startOwnRedis } from '../redis/own-redis.js'
import { startService } from '../support/service.js'
import { redisAvailable } from '../support/services.js'
import { until } from '../support/until.js'

it.skipIf(!redisAvailable)('an idle server and worker send Redis few commands', async () => {
  const redis = await startOwnRedis()
  onTestFinished(() => redis.kill())
  const service = await startService({ worker: true, env: { REDIS_URL: redis.url } })
  onTestFinished(() => service.close())
  const admin = new Redis(redis.url)
  onTestFinished(() => admin.disconnect())
  const counts = async () => {
    const calls = [...(await admin.info('commandstats')).matchAll(/cmdstat_(\S+?):calls=(\d+)/g)]
    const asked = new Map(calls.map(([, command = '', times]) => [command, Number(times)]))
    asked.delete('info') // our own
    return asked
  }
  const looksForWipes = async () => (await counts()).get('get') ?? 0
  await until(async () => (await looksForWipes()) > 5, 'a reconciler at work')
  await admin.config('RESETSTAT')
  await until(async () => (await looksForWipes()) > 30, 'its next looks, which come at the same pace')
  const all = [...(await counts()).values()].reduce((sum, times) => sum + times, 0)
  // With a read every second there were seven times as many as looks for wipes.
  expect(all).toBeLessThan(30 * 4)
})
