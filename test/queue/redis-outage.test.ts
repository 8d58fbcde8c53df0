import type { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { JobWorkerOptions } from '../../src/queue/job-worker.js'
import { generationQueue, startGenerationWorker } from '../../src/queue/queues.js'
import { createFailFastRedis, createPatientRedis, createProducerRedis, whenReady } from '../../src/redis/client.js'
import { startProxy, type TcpProxy } from '../programs/chaos/proxy.js'
import { type OwnRedis, startOwnRedis } from '../redis/own-redis.js'
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.js'
import { redisAvailable } from '../support/services.js'
import { until, within } from '../support/until.js'
import { SHORT_TIMES } from './given-queue.js'

const closers: (() => unknown)[] = []
let server: OwnRedis
/** Two in a row: one that a restarted Redis stays behind, and one that refuses connections. */
let address: TcpProxy
let network: FaultProxy
let url: string
beforeEach(async () => {
  server = await startOwnRedis()
  address = await startProxy(server.port)
  network = await startFaultProxy(`redis://127.0.0.1:${address.port}`)
  url = network.through(`redis://127.0.0.1:${address.port}`)
})
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
  await network.close()
  address.close()
  await server.kill()
})

const quiet = () => undefined
const BELL = { id: 'gen_a', attempt: 1 }
/** Only to fail what never ends: Redis is away until the test has its answer. */
const ENDLESS_MS = 60_000

function openGenerationQueue() {
  const redis = createProducerRedis(url, quiet)
  const queue = generationQueue({ kind: 'redis', redis, prefix: 'outage' }, quiet)
  closers.push(
    () => redis.disconnect(),
    () => queue.close(),
  )
  return { redis, queue }
}

/** Work that lasts until it is released. */
function longWork() {
  let finish: (() => void) | undefined
  const begun = () => finish
  const work = () =>
    new Promise<void>((resolve) => {
      finish = resolve
    })
  return { work, begun, release: () => finish?.() }
}

function listen(onJob: JobWorkerOptions['onJob']) {
  const redis = createPatientRedis(url, quiet) as Redis
  const worker = startGenerationWorker({
    connection: { kind: 'redis', redis, prefix: 'outage' },
    concurrency: 1,
    onJob,
    onError: quiet,
    times: SHORT_TIMES,
  })
  closers.push(
    () => redis.disconnect(),
    () => worker.close(500),
  )
  return { redis, worker }
}

const OUTAGES: [string, { begin(listener: Redis): Promise<unknown>; end(): Promise<unknown> }][] = [
  [
    'has refused connections',
    {
      async begin(listener) {
        let attempts = 0
        listener.on('reconnecting', () => attempts++)
        await network.refuse()
        // Longer than a blocking read lasts, and than stalled deliveries are left alone.
        await until(() => attempts >= 3, 'three attempts to connect')
      },
      end: () => network.pass(),
    },
  ],
  [
    'has stood still',
    {
      async begin() {
        const watch = createFailFastRedis(server.url, quiet)
        closers.push(() => watch.disconnect())
        await whenReady(watch)
        server.pause()
        let missed = 0
        // Likewise.
        await until(() => watch.ping().then(quiet, () => ++missed >= 2), 'two answers being missed')
      },
      end: async () => server.resume(),
    },
  ],
  ['has cut every connection', { begin: async () => address.cut(), end: async () => undefined }],
  [
    'was started anew without its data',
    {
      async begin(listener) {
        await server.kill()
        await until(() => listener.status !== 'ready', 'the end being noticed')
      },
      async end() {
        server = await startOwnRedis()
        address.target(server.port)
      },
    },
  ],
]

describe.skipIf(!redisAvailable)('the producer of deliveries', () => {
  it('answers if it is opened while Redis is away, and rings as soon as Redis is there', async () => {
    await network.refuse()
    const { queue } = openGenerationQueue()
    expect(await within(ENDLESS_MS, queue.enqueue([BELL]))).toBe(false)
    await within(ENDLESS_MS, queue.withdraw(BELL))
    await network.pass()
    await until(() => queue.enqueue([BELL]), 'the queue being reachable')
    let rung = 0
    listen(async () => void rung++)
    await until(() => rung > 0, 'the ring')
  })

  it('answers while Redis stands still, and a delivery that it made meanwhile rings once afterwards', async () => {
    const { queue } = openGenerationQueue()
    await until(() => queue.enqueue([{ id: 'gen_before', attempt: 1 }]), 'the queue being reachable')
    server.pause()
    expect(await within(ENDLESS_MS, queue.enqueue([BELL]))).toBe(false)
    server.resume()
    await until(() => queue.enqueue([BELL]), 'the queue being reachable')
    const heard: unknown[] = []
    const { redis } = listen(async () => void heard.push(1))
    await until(() => heard.length >= 2, 'both rings')
    await until(async () => (await redis.keys('outage:generations:gen_*')).length === 0, 'the end of all deliveries')
    expect(heard).toHaveLength(2)
  })

  it('closes while Redis stands still, whether it is idle or waits for an answer', async () => {
    const [idle, ringing] = [openGenerationQueue(), openGenerationQueue()]
    for (const { queue } of [idle, ringing]) await until(() => queue.enqueue([BELL]), 'the queue being reachable')
    server.pause()
    await ringing.queue.enqueue([BELL])
    await within(ENDLESS_MS, Promise.all([idle.queue.close(), ringing.queue.close()]))
    server.resume()
  })
})

describe.skipIf(!redisAvailable)('the consumer of deliveries', () => {
  it.each(OUTAGES)('hears deliveries again after Redis %s', async (_name, { begin, end }) => {
    const { queue } = openGenerationQueue()
    let rung = 0
    const { redis } = listen(async () => void rung++)
    await until(() => queue.enqueue([BELL]), 'the queue being reachable')
    await until(() => rung > 0, 'the first ring')
    await begin(redis)
    const before = rung
    await end()
    await until(() => queue.enqueue([{ id: 'gen_b', attempt: 1 }]), 'the queue being reachable')
    await until(() => rung > before, 'the ring after the outage')
  })

  it.each([
    ['refuses connections', () => network.refuse()],
    ['stands still', async () => server.pause()],
  ])('closes while Redis %s, whether it is idle or works for a delivery', async (_name, begin) => {
    const { queue } = openGenerationQueue()
    const { work, begun, release } = longWork()
    const busy = listen(work)
    await until(() => queue.enqueue([BELL]), 'the queue being reachable')
    await until(begun, 'the delivery')
    const idle = listen(async () => undefined)
    await whenReady(idle.redis)
    await begin()
    const closing = Promise.all([idle.worker.close(500), busy.worker.close(500)])
    release()
    await within(ENDLESS_MS, closing)
    server.resume()
  })

  it('closes only after the work for the delivery that it has taken', async () => {
    const { queue } = openGenerationQueue()
    const { work, begun, release } = longWork()
    const { worker } = listen(work)
    await until(() => queue.enqueue([BELL]), 'the queue being reachable')
    await until(begun, 'the delivery')
    let closed = false
    const closing = worker.close(60_000).then(() => {
      closed = true
    })
    await until(() => queue.enqueue([{ id: 'gen_b', attempt: 1 }]), 'another ring')
    expect(closed).toBe(false)
    release()
    await closing
  })
})
