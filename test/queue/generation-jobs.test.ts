import { describe, expect, it, onTestFinished } from 'vitest'
import { generationQueue } from '../../src/queue/queues.js'
import { createProducerRedis } from '../../src/redis/client.js'
import { startOwnRedis } from '../redis/own-redis.js'
import { createTestDatabase, redisAvailable, redisUrl } from '../support/services.js'
import { until } from '../support/until.js'
import { givenQueue } from './given-queue.js'

// The same promises from both of BullMQ's backends.
describe.each([
  ['Redis', 'redis'],
  ['Postgres', 'postgres'],
] as const)('the queue on %s', (_name, kind) => {
  const on = (name: string, test: () => Promise<void>) => it.skipIf(kind === 'redis' && !redisAvailable)(name, test)

  const given = async () => givenQueue(kind, kind === 'redis' ? await redisUrl() : (await createTestDatabase()).url)

  on('rings once for each generation, also for those that were added before anyone listened', async () => {
    const { listen, ring } = await given()
    await ring('gen_a', 'gen_b')
    let rung = 0
    listen(async () => void rung++)
    await until(() => rung === 2, 'two rings')
    await ring('gen_c')
    await until(() => rung === 3, 'the third ring')
  })

  on('rings for each of 350 generations that are added at once', async () => {
    const { listen, ring } = await given()
    await ring(...Array.from({ length: 350 }, (_, i) => `gen_${i}`))
    let rung = 0
    listen(async () => void rung++, 50)
    await until(() => rung === 350, 'every ring')
  })

  on('rings once for a generation that was added three times while it waited', async () => {
    const { listen, ring, heardOut } = await given()
    await ring('gen_a')
    await ring('gen_a', 'gen_last')
    await ring('gen_a')
    let rung = 0
    listen(async () => void rung++)
    await heardOut()
    expect(rung).toBe(2)
  })

  on('rings again for an attempt that is added again after its first ring was heard', async () => {
    const { listen, ring } = await given()
    let rung = 0
    listen(async () => void rung++)
    await ring('gen_a')
    await until(() => rung === 1, 'the first ring')
    // What was heard leaves nothing behind that would swallow it.
    await until(async () => {
      await ring('gen_a')
      return rung >= 2
    }, 'the second ring')
  })

  on('does not ring for a generation that was withdrawn', async () => {
    const { queue, listen, ring, heardOut } = await given()
    await ring('gen_a', 'gen_b')
    await queue.withdraw({ id: 'gen_a', attempt: 1 })
    await queue.withdraw({ id: 'gen_unknown', attempt: 1 })
    let rung = 0
    listen(async () => void rung++)
    await heardOut()
    expect(rung).toBe(1)
  })

  on('rings for the next generation after the job of one has failed', async () => {
    const { listen, ring } = await given()
    let rung = 0
    listen(async () => {
      if (++rung === 1) throw new Error('deaf')
    })
    await ring('gen_a', 'gen_b')
    await until(() => rung >= 2, 'the second ring')
  })

  on('rings for as many generations at once as it was told, and no more', async () => {
    const { listen, ring } = await given()
    let [busy, most] = [0, 0]
    const release: (() => void)[] = []
    listen(async () => {
      most = Math.max(most, ++busy)
      await new Promise<void>((resolve) => release.push(resolve))
      busy--
    }, 2)
    await ring('gen_a', 'gen_b', 'gen_c')
    await until(() => busy === 2, 'two at once')
    release.shift()?.()
    await until(() => release.length === 2, 'the third')
    for (const done of release.splice(0)) done()
    await until(() => busy === 0, 'the end')
    expect(most).toBe(2)
  })
})

describe.skipIf(!redisAvailable)('the queue while Redis stands still', () => {
  it('answers 200 calls that it could not add, also if it is opened then, and adds again once Redis goes on', async () => {
    const server = await startOwnRedis()
    const redis = createProducerRedis(server.url, () => undefined)
    onTestFinished(async () => {
      redis.disconnect()
      await server.kill()
    })
    await until(() => redis.status === 'ready', 'the connection')
    server.pause()
    const queue = generationQueue({ kind: 'redis', redis, prefix: 'paused' }, () => undefined)
    const deliveries = [{ id: 'gen_a', attempt: 1 }]
    // All are answered while Redis still stands.
    const answers = await Promise.all(Array.from({ length: 200 }, () => queue.enqueue(deliveries)))
    expect(answers).not.toContain(true)
    server.resume()
    await until(() => queue.enqueue(deliveries), 'the queue being reachable')
  })
})
