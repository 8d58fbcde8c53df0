import type { LiveBoard } from '../core/generations/ports.js'
import { batched } from '../lib/batch.js'
import { defineScript, type RedisAvailability, redisAvailability } from './client.js'
import { keyNamer, perSlot, type RedisClient } from './cluster.js'

const TTL_SECONDS = 60

// An attempt that was taken over may still write, so the stored value begins with its attempt and a colon.
const SET_UNLESS_OLD = `
  local held = redis.call('GET', KEYS[1])
  if held and tonumber(string.match(held, '^(%d+):') or 0) > tonumber(ARGV[1]) then return end
  redis.call('SET', KEYS[1], ARGV[1] .. ':' .. ARGV[2], 'EX', ${TTL_SECONDS})`

const redisBoard =
  <T>(name: string, write: (value: T) => string | Buffer, read: (stored: Buffer) => T) =>
  (redis: RedisClient, prefix: string, availability: RedisAvailability = redisAvailability()): LiveBoard<T> => {
    const nameKey = keyNamer(redis, prefix)
    const keyOf = (id: string) => nameKey(`${name}:${id}`)
    const setUnlessOld = defineScript(redis, `set_${name}`, SET_UNLESS_OLD)
    return {
      async set(id, attempt, value) {
        await availability.run(() => setUnlessOld([keyOf(id)], attempt, write(value)))
      },
      get: batched(async (ids: readonly string[]) => {
        const stored = await perSlot(ids, keyOf, (keys) => availability.run(() => redis.mgetBuffer([...keys])))
        return stored.map((value) => (value ? read(value.subarray(value.indexOf(':') + 1)) : undefined))
      }),
    }
  }

export const redisProgressBoard = redisBoard(
  'progress',
  (progress: number) => progress.toFixed(4),
  (stored) => Number(stored.toString()),
)

export const redisPreviewBoard = redisBoard<Buffer>(
  'preview',
  (image) => image,
  (stored) => stored,
)
