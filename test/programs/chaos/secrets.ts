import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { createAuditRedis, whenReady } from '../../../src/redis/client.js'
import { type RedisClient, scanKeys } from '../../../src/redis/cluster.js'
import type { Violation } from './history.js'

/** Lines of a log that say what none may say, and those that tell of an error nobody caught. */
export async function readLog(file: string, secret: RegExp): Promise<Violation[]> {
  const found: Violation[] = []
  let number = 0
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
    number++
    if (secret.test(line)) found.push({ invariant: 'I16', what: `${file}:${number} says a prompt or a key` })
    // Pino writes JSON; a stack trace that comes bare is Node's own last word.
    if (line.includes('"level":60') || /^(node:internal|Error|TypeError)/.test(line))
      found.push({
        invariant: 'I15',
        what: `${file}:${number} tells of an error that nobody caught: ${line.slice(0, 300)}`,
      })
  }
  return found
}

/** Internal errors of a log, by what they say, without the ids. */
export async function internalErrors(file: string): Promise<string[]> {
  const found: string[] = []
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
    if (!line.includes('"msg":"request failed"')) continue
    const { err } = JSON.parse(line) as { err?: { message?: string; code?: string; stack?: string } }
    found.push(`${err?.code ?? ''} ${err?.message ?? ''} ${err?.stack?.split('\n')[1]?.trim() ?? ''}`.slice(0, 300))
  }
  return found
}

/** Whatever Redis holds. */
export async function readRedis(url: string, secret: RegExp): Promise<Violation[]> {
  const redis = createAuditRedis(url, () => undefined)
  const found: Violation[] = []
  try {
    await whenReady(redis)
    for await (const keys of scanKeys(redis, '*', 500)) {
      for (const key of keys) {
        if (secret.test(`${key} ${JSON.stringify(await contentOf(redis, key))}`))
          found.push({ invariant: 'I16', what: `the Redis key ${key} holds a prompt or an API key` })
      }
    }
  } finally {
    redis.disconnect()
  }
  return found
}

async function contentOf(redis: RedisClient, key: string): Promise<unknown> {
  switch (await redis.type(key)) {
    case 'string':
      return redis.get(key)
    case 'hash':
      return redis.hgetall(key)
    case 'list':
      return redis.lrange(key, 0, -1)
    case 'set':
      return redis.smembers(key)
    case 'zset':
      return redis.zrange(key, '0', '-1')
    case 'stream':
      return redis.xrange(key, '-', '+')
    default:
      return null
  }
}
