import type { Redis } from 'ioredis'
import type { ProgressBoard } from '../generation/ports.js'
import { type RedisAvailability, redisAvailability } from './availability.js'

const TTL_SECONDS = 60

export const redisProgressBoard = (
  redis: Redis,
  prefix: string,
  availability: RedisAvailability = redisAvailability(),
): ProgressBoard => ({
  async set(id, _attempt, progress) {
    await availability.run(() => redis.set(`${prefix}:progress:${id}`, progress.toFixed(4), 'EX', TTL_SECONDS))
  },

  async get(ids) {
    const texts = await availability.run(() => redis.mget(ids.map((id) => `${prefix}:progress:${id}`)))
    return new Map(ids.flatMap((id, i) => (texts[i] ? [[id, Number(texts[i])] as const] : [])))
  },
})
