import { setTimeout as delay } from 'node:timers/promises'
import { createAuditRedis } from '../../../src/redis/client.js'
import { slotPrefixes } from '../../../src/redis/cluster.js'
import { PRESENT, wipeMarkKey } from '../../../src/redis/wipe-mark.js'
import type { Exchange } from './history.js'
import type { AttackedRedis } from './redis.js'

const GIVEN_UP_AFTER_MS = 30_000

/** Measures how long things take to be as before, in milliseconds. */
export function watchRecoveries(redis: AttackedRedis) {
  const times: { redis: number[]; postgres: number[] } = { redis: [], postgres: [] }
  let postgresBackAt: number | undefined
  let losses = 0
  let stopped = false

  async function untilRebuilt(loss: number): Promise<void> {
    const back = Date.now()
    const client = createAuditRedis(redis.url(), () => undefined)
    // They are put back when queue and locks have been rebuilt.
    const marks = slotPrefixes(client, 'easel').map(wipeMarkKey)
    // Lost again before it was rebuilt: the next loss measures.
    while (!stopped && loss === losses && Date.now() - back < GIVEN_UP_AFTER_MS) {
      const found = await Promise.all(marks.map((mark) => client.get(mark).catch(() => null)))
      if (found.every((it) => it === PRESENT)) {
        times.redis.push(Date.now() - back)
        break
      }
      await delay(25)
    }
    client.disconnect()
  }

  return {
    ...times,
    redisIsBack: () => void untilRebuilt(++losses),
    postgresIsBack: () => {
      postgresBackAt = Date.now()
    },
    /** The first good answer that needed Postgres. */
    noteAnswer: ({ asked, got, until }: Exchange) => {
      if (postgresBackAt === undefined || typeof got === 'string' || got.status >= 300) return
      if (asked.what !== 'submit' && asked.what !== 'poll') return
      times.postgres.push(Math.max(0, until - postgresBackAt))
      postgresBackAt = undefined
    },
    stop: () => {
      stopped = true
    },
  }
}
