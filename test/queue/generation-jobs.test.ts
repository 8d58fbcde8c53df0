import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { generationQueue, openGenerationQueue, startGenerationWorker } from '../../src/queue/generation-jobs.js'
import type { QueueConnection } from '../../src/queue/job-queue.js'
import { createPatientRedis, createProducerRedis } from '../../src/redis/client.js'
import { startRedis } from '../support/redis-server.js'
import { createTestDatabase, redisAvailable, redisUrl } from '../support/services.js'
import { until } from '../support/until.js'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

const quiet = () => undefined

// The same promises from both of BullMQ's backends.
describe.each([
  ['Redis', 'redis'],
  ['Postgres', 'postgres'],
] as const)('the queue on %s', (_name, kind) => {
  const on = (name: string, test: () => Promise<void>) => it.skipIf(kind === 'redis' && !redisAvailable)(name, test)

  async function givenQueue() {
    const prefix = `t${randomBytes(5).toString('hex')}`
    const database = kind === 'postgres' ? (await createTestDatabase()).url : ''
    const redis = kind === 'redis' ? await redisUrl() : ''
    const connection = (patient: boolean): QueueConnection => {
      if (kind === 'postgres') return { kind, url: database, prefix }
      const client = (patient ? createPatientRedis : createProducerRedis)(redis, quiet)
      closers.push(async () => client.disconnect())
      return { kind, redis: client, prefix }
    }
    const queue = generationQueue(connection(false), quiet)
    closers.push(() => queue.close())
    const listen = (onJob: () => Promise<void>, concurrency = 1) => {
      const worker = startGenerationWorker({ connection: connection(true), concurrency, onJob, onError: quiet })
      closers.push(() => worker.close(2000))
      return worker
    }
    const ring = async (...ids: string[]) => {
      const deliveries = ids.map((id) => ({ id, attempt: 1 }))
      await until(() => queue.enqueue(deliveries), 'the queue being reachable')
    }
    const inspected = openGenerationQueue(connection(false))
    inspected.on('error', quiet)
    closers.push(() => inspected.close())
    const heardOut = () =>
      until(async () => {
        const counts = await inspected.getJobCounts()
        return Object.values(counts).every((count) => count === 0)
      }, 'the queue being empty')
    return { queue, listen, ring, heardOut }
  }

  on('rings once for each generation, also for those that waited before anyone listened', async () => {
    const { listen, ring } = await givenQueue()
    await ring('gen_a', 'gen_b')
    let rung = 0
    listen(async () => void rung++)
    await until(() => rung === 2, 'two rings')
    await ring('gen_c')
    await until(() => rung === 3, 'the third ring')
  })

  on('rings for each of many that come at once', async () => {
    const { listen, ring } = await givenQueue()
    await ring(...Array.from({ length: 350 }, (_, i) => `gen_${i}`))
    let rung = 0
    listen(async () => void rung++, 50)
    await until(() => rung === 350, 'every ring')
  })

  on('rings once for a generation that was added several times while it waited', async () => {
    const { listen, ring, heardOut } = await givenQueue()
    await ring('gen_a')
    await ring('gen_a', 'gen_last')
    await ring('gen_a')
    let rung = 0
    listen(async () => void rung++)
    await heardOut()
    expect(rung).toBe(2)
  })

  on('rings again for the same attempt once the first ring was heard', async () => {
    const { listen, ring } = await givenQueue()
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

  on('does not ring for what was taken back', async () => {
    const { queue, listen, ring, heardOut } = await givenQueue()
    await ring('gen_a', 'gen_b')
    await queue.withdraw({ id: 'gen_a', attempt: 1 })
    await queue.withdraw({ id: 'gen_unknown', attempt: 1 })
    let rung = 0
    listen(async () => void rung++)
    await heardOut()
    expect(rung).toBe(1)
  })

  on('rings on after a ring that failed', async () => {
    const { listen, ring } = await givenQueue()
    let rung = 0
    listen(async () => {
      if (++rung === 1) throw new Error('deaf')
    })
    await ring('gen_a', 'gen_b')
    await until(() => rung >= 2, 'the second ring')
  })

  on('rings as many at once as there are backends, and no more', async () => {
    const { listen, ring } = await givenQueue()
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
  it('gives up in time, on opening as on adding, and rings again once Redis goes on', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'easel-queue-'))
    const server = await startRedis(directory)
    if (!server) throw new Error('Redis was there a moment ago')
    const pid = Number(await readFile(join(directory, 'redis.pid'), 'utf8'))
    const redis = createProducerRedis(server.url, quiet)
    closers.push(async () => {
      redis.disconnect()
      await server.stop()
      await rm(directory, { recursive: true })
    })
    await until(() => redis.status === 'ready', 'the connection')
    process.kill(pid, 'SIGSTOP')
    const queue = generationQueue({ kind: 'redis', redis, prefix: 'paused' }, quiet)
    const deliveries = [{ id: 'gen_a', attempt: 1 }]
    try {
      const answers = await Promise.all(Array.from({ length: 200 }, () => queue.enqueue(deliveries)))
      expect(answers).not.toContain(true)
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    await until(() => queue.enqueue(deliveries), 'the queue being reachable')
  })
})
