import type { Redis } from 'ioredis'

/** The service's Redis, read-only. With raw commands, because BullMQ's own Queue writes when it is opened. */
export interface AuditRedis {
  readonly client: Redis
  /** Prefix of every key. */
  readonly namespace: string
}

const UNREACHABLE = "Redis can't be reached: check REDIS_URL and that it is running."
const PAGE = 500

/** Without a cause, which the command line would mistake for Postgres's. */
export const redisUnreachable = (): Error => new Error(UNREACHABLE)

/** @throws redisUnreachable if Redis does not answer */
export async function ask<T>(command: Promise<T>): Promise<T> {
  try {
    return await command
  } catch {
    throw redisUnreachable()
  }
}

/** The keys that match a pattern, in pages; a key may come twice. */
export async function* keysLike(client: Redis, pattern: string): AsyncGenerator<string[]> {
  let cursor = '0'
  do {
    const [next, keys] = await ask(client.scan(cursor, 'MATCH', pattern, 'COUNT', PAGE))
    if (keys.length > 0) yield keys
    cursor = next
  } while (cursor !== '0')
}
