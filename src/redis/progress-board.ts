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

  async get(id) {
    const text = await availability.run(() => redis.get(`${prefix}:progress:${id}`))
    return text === null ? undefined : Number(text)
  },
})
