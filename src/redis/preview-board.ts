import type { Redis } from 'ioredis'
import type { PreviewBoard } from '../generation/follow-ports.js'
import { type RedisAvailability, redisAvailability } from './availability.js'

const TTL_SECONDS = 60

export const redisPreviewBoard = (
  redis: Redis,
  prefix: string,
  availability: RedisAvailability = redisAvailability(),
): PreviewBoard => ({
  async set(id, _attempt, image) {
    await availability.run(() => redis.set(`${prefix}:preview:${id}`, image, 'EX', TTL_SECONDS))
  },

  async get(ids) {
    const images = await availability.run(() => redis.mgetBuffer(ids.map((id) => `${prefix}:preview:${id}`)))
    return new Map(ids.flatMap((id, i) => (images[i] ? [[id, images[i]] as const] : [])))
  },
})
