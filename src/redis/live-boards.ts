import type { Redis } from 'ioredis'
import type { LiveBoard } from '../generation/follow-ports.js'
import { type RedisAvailability, redisAvailability } from './availability.js'

const TTL_SECONDS = 60

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
      async set(id, _attempt, value) {
        await availability.run(() => redis.set(keyOf(id), write(value), 'EX', TTL_SECONDS))
      },

      async get(ids) {
        const stored = await availability.run(() => redis.mgetBuffer(ids.map(keyOf)))
        return new Map(
          ids.flatMap((id, i) => {
            const value = stored[i]
            return value ? [[id, read(value)] as const] : []
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
