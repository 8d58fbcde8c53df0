import { randomBytes } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { postgresPreviewBoard, postgresProgressBoard } from '../../../src/db/generations/live-boards.js'
import type { RedisClient } from '../../../src/redis/cluster.js'
import { redisPreviewBoard, redisProgressBoard } from '../../../src/redis/live-boards.js'
import { useDatabase } from '../../support/database.js'
import { openRedisIfAny } from '../../support/test-redis.js'

const context = useDatabase()
const redis = await openRedisIfAny()
afterAll(() => redis?.disconnect())
const prefix = `t${randomBytes(5).toString('hex')}`

describe.each(['Postgres', ...(redis ? ['Redis'] : [])])('the live boards in %s', (where) => {
  const progress = () =>
    where === 'Redis' ? redisProgressBoard(redis as RedisClient, prefix) : postgresProgressBoard(context.db)
  const previews = () =>
    where === 'Redis' ? redisPreviewBoard(redis as RedisClient, prefix) : postgresPreviewBoard(context.db)

  it('show the latest progress of the newest attempt, whatever an older attempt still writes', async () => {
    const board = progress()
    await board.set('gen_a', 9, 0.75)
    await board.set('gen_a', 9, 0.5)
    expect(await Promise.all([board.get('gen_a'), board.get('gen_b')])).toEqual([0.5, undefined])
    await board.set('gen_a', 10, 0.25)
    await board.set('gen_a', 9, 1)
    expect(await board.get('gen_a')).toBe(0.25)
  })

  it('keep a preview of the newest attempt byte for byte', async () => {
    const image = Buffer.concat([Buffer.from('0:1:'), randomBytes(2000)])
    await previews().set('gen_a', 2, image)
    await previews().set('gen_a', 1, randomBytes(20))
    expect(await previews().get('gen_a')).toEqual(image)
  })
})
