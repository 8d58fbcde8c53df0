import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readRedis } from '../programs/chaos/secrets.js'
import { type OwnRedis, startOwnRedis } from '../redis/own-redis.js'
import { call, endOf } from '../support/client.js'
import { givenUser } from '../support/givens.js'
import { type Service, startService } from '../support/service.js'
import { redisAvailable } from '../support/services.js'
import { until } from '../support/until.js'

/** In both prompts, and nowhere else. */
const CANARY = 'quokkaverb'
const PROMPTS = { prompt: `a ${CANARY} at dusk`, negative_prompt: `no ${CANARY}`, width: 256, height: 256 }

let server: OwnRedis
let watcher: Redis
let service: Service
/** Every command that Redis has been sent, also by its scripts. */
const commands: string[][] = []

beforeAll(async () => {
  if (!redisAvailable) return
  server = await startOwnRedis()
  watcher = new Redis(server.url)
  const monitor = await watcher.monitor()
  monitor.on('monitor', (_time: string, args: string[]) => commands.push(args))
  watcher.on('close', () => monitor.disconnect())
  service = await startService({
    redis: true,
    worker: true,
    env: { REDIS_URL: server.url, RATE_LIMIT_MAX: '100000' },
  })
})
afterAll(async () => {
  await service?.close()
  watcher?.disconnect()
  await server?.kill()
})

/** The keys of a script's call, of which there are several. */
function keysOf([name, , count, ...rest]: string[]): string[] {
  return /^eval(sha)?$/i.test(name ?? '') ? rest.slice(0, Number(count)) : []
}

describe.skipIf(!redisAvailable)('what Redis is told of generations', () => {
  it('holds no prompt and no key, and keeps what belongs together on one shard', async () => {
    const [one, two] = [await givenUser(service.db), await givenUser(service.db)]
    const submitted = await call(service.url, 'POST', '/api/v1/generate', {
      key: one.key,
      body: { ...PROMPTS, model_version_id: 10 },
      headers: { 'idempotency-key': `${CANARY}-1` },
    })
    expect(await endOf(service, one, submitted.body.id)).toMatchObject({ status: 'succeeded' })
    const created = await call(service.url, 'POST', '/v1/images/generate', { key: two.key, body: PROMPTS })
    expect(created).toMatchObject({ status: 200 })
    await watcher.set('the-end', 1)
    await until(() => commands.some((args) => args.includes('the-end')), 'all commands being seen')

    // The generation was locked, rung for and counted: the watch saw it.
    const all = commands.map((args) => args.join(' '))
    for (const told of [`:lock:${one.id}`, `${submitted.body.id}-1`])
      expect(all.some((command) => command.includes(told))).toBe(true)
    for (const secret of [CANARY, one.key, two.key])
      expect(all.filter((command) => command.includes(secret))).toEqual([])
    expect(await readRedis(server.url, new RegExp(`${CANARY}|${one.key}|${two.key}`))).toEqual([])

    const together = commands.map(keysOf).filter((keys) => keys.length > 1)
    expect(together.length).toBeGreaterThan(0)
    const tag = `{${service.namespace}}:`
    expect(together.filter((keys) => !keys.every((key) => key.startsWith(tag)))).toEqual([])
  })
})
