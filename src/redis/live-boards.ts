import type { Redis } from 'ioredis'
import type { LiveBoard } from '../generation/ports.js'
import { type RedisAvailability, redisAvailability } from './client.js'

const TTL_SECONDS = 60

// An attempt that was taken over may still write. The value begins with its attempt and a colon.
const SET_UNLESS_OLD = `
  local held = redis.call('GET', KEYS[1])
  if held and tonumber(string.match(held, '^(%d+):') or 0) > tonumber(ARGV[1]) then return end
  redis.call('SET', KEYS[1], ARGV[1] .. ':' .. ARGV[2], 'EX', ${TTL_SECONDS})`

interface Form<T> {
  readonly write: (value: T) => string | Buffer
  readonly read: (stored: Buffer) => T
}

type RedisBoard<T> = (redis: Redis, prefix: string, availability?: RedisAvailability) => LiveBoard<T>

const redisBoard =
  <T>(name: string, { write, read }: Form<T>): RedisBoard<T> =>
  (redis, prefix, availability = redisAvailability()) => {
    const keyOf = (id: string) => `${prefix}:${name}:${id}`
    return {
      async set(id, attempt, value) {
        await availability.run(() => redis.eval(SET_UNLESS_OLD, 1, keyOf(id), attempt, write(value)))
      },

      async get(ids) {
        const stored = await availability.run(() => redis.mgetBuffer(ids.map(keyOf)))
        return new Map(
          ids.flatMap((id, i) => {
            const value = stored[i]
            return value ? [[id, read(value.subarray(value.indexOf(':') + 1))] as const] : []
          }),
        )
      },
    }
  }

export const redisProgressBoard = redisBoard('progress', {
  write: (progress: number) => progress.toFixed(4),
  read: (stored) => Number(stored.toString()),
})

export const redisPreviewBoard = redisBoard('preview', {
  write: (image: Buffer) => image,
  read: (stored) => stored,
})
