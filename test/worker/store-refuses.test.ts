/**
 * Buckets that refuse what we ask of them: from the start or later, all of it or a part. Each test counts what the GPU
 * has drawn, since a store that refuses must never make it draw again and again.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { WorkerOptions } from '../../src/process/start-worker.js'
import { type A1111StandIn, startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import { call, endOf, PROMPT } from '../support/client.js'
import { freePort } from '../support/free-port.js'
import { chargesOf, givenUser, rowOf } from '../support/givens.js'
import { asks, names, putsMoreThan, refusing } from '../support/s3-refusals.js'
import { type Fault, type S3Server, startS3 } from '../support/s3-server.js'
import { useService } from '../support/service.js'
import { until } from '../support/until.js'
import { QUICK } from '../support/worker-times.js'

interface Ready {
  readonly status: string
  readonly checks: Readonly<Record<string, string>>
}

const PATIENT = { ...QUICK, storeForMs: 600_000 }
const CHARGED = [['charge', -1]]
const GIVEN_BACK = [
  ['charge', -1],
  ['refund', 1],
]
const NOT_STORED = 'The images were drawn but could not be stored. Please submit it again.'
const TOO_LARGE = 'The image is too large to be stored. Choose a smaller width and height.'

const directory = await mkdtemp(join(tmpdir(), 'easel-refusing-'))
let s3: S3Server
let gpu: A1111StandIn
beforeAll(async () => {
  s3 = await startS3(directory)
  gpu = await startA1111StandIn()
})
afterAll(async () => {
  await gpu.close()
  await s3.close()
  await rm(directory, { recursive: true, force: true, maxRetries: 20 })
})
let drawnBefore: number
beforeEach(() => {
  drawnBefore = gpu.asked().length
  onTestFinished(() => {
    s3.fault = undefined
  })
})
const drawn = () => gpu.asked().length - drawnBefore

const isPut = asks('PUT')
const isPutOfImage = (request: IncomingMessage) => isPut(request) && !request.url?.includes('.probe.')

describe.each(['direct', 'server'])('with UPLOAD_VIA=%s', (via) => {
  const isDirect = via === 'direct'
  const context = useService(async () => ({
    env: {
      ...(await s3.env(`via-${via}`)),
      ...{ INFERENCE_URL: gpu.inferenceUrl, RATE_LIMIT_MAX: '100000' },
      ...(!isDirect && { UPLOAD_VIA: 'server', UPLOAD_SECRET: 'a secret of servers and workers, long enough' }),
    },
  }))

  async function givenWorker(times = QUICK, env: Record<string, string> = {}, options: WorkerOptions = {}) {
    const noKey = { S3_ACCESS_KEY_ID: '', S3_SECRET_ACCESS_KEY: '', BASE_URL: context.service.url }
    const worker = await context.service.worker({ times, ...options }, { ...(!isDirect && noKey), ...env })
    let stopped: Promise<void> | undefined
    const stop = () => (stopped ??= worker.stop())
    onTestFinished(stop)
    return { stop }
  }

  async function submit(size = { width: 256, height: 256 }) {
    const { service } = context
    const user = await givenUser(service.db)
    const body = { ...PROMPT, ...size, steps: 1 }
    const submitted = await call(service.url, 'POST', '/api/v1/generate', { key: user.key, body })
    expect(submitted.status).toBe(201)
    const id = submitted.body.id as string
    return {
      ...{ user, id },
      end: () => endOf(service, user, id),
      row: () => rowOf(service.db, { id }),
      charges: () => chargesOf(service.db, user),
    }
  }

  const backend = async () => {
    const { rows } = await context.service.db.pool.query('SELECT up, error FROM backends ORDER BY seen_at DESC LIMIT 1')
    return rows[0] as { up: boolean; error: string | null } | undefined
  }
  const paused = (sentence: RegExp) =>
    until(async () => {
      const seen = await backend()
      return seen && !seen.up && sentence.test(seen.error ?? '')
    }, `the backend being paused with ${sentence}`)

  it.each<[string, Fault]>([
    ['checksums', refusing(400, 'InvalidRequest', names('x-amz-checksum'))],
    ['HEAD', refusing(403, 'AccessDenied', asks('HEAD'))],
  ])('draws once and stores what it has drawn in a bucket that refuses %s', async (_name, fault) => {
    s3.fault = fault
    await givenWorker()
    const generation = await submit()
    expect(await generation.end()).toMatchObject({ status: 'succeeded' })
    expect([drawn(), await generation.charges()]).toEqual([1, CHARGED])
  })

  it(
    isDirect
      ? 'draws once and stores what it has drawn in a bucket that refuses conditional puts'
      : 'draws nothing, and says why, while the bucket refuses conditional puts',
    async () => {
      s3.fault = refusing(400, 'InvalidArgument', names('if-'))
      await givenWorker()
      const generation = await submit()
      if (!isDirect) {
        await paused(/takes no conditional puts, which uploads through the server need/)
        expect([drawn(), (await generation.row()).status]).toEqual([0, 'queued'])
        s3.fault = undefined
      }
      expect(await generation.end()).toMatchObject({ status: 'succeeded' })
      expect([drawn(), await generation.charges()]).toEqual([1, CHARGED])
    },
  )

  it('fails only what is too large, drawn once and given back, and goes on', async () => {
    const metricsPort = await freePort()
    s3.fault = refusing(413, 'RequestEntityTooLarge', putsMoreThan(100_000))
    // Its check tries the sizes of real images.
    await givenWorker(QUICK, { METRICS_PORT: String(metricsPort) }, { probeBytes: undefined })
    const [small, large, other] = [await submit(), await submit({ width: 2048, height: 1536 }), await submit()]
    expect(await large.end()).toMatchObject({ status: 'failed', error: TOO_LARGE })
    for (const generation of [small, other]) expect(await generation.end()).toMatchObject({ status: 'succeeded' })
    expect([drawn(), await large.charges(), await small.charges()]).toEqual([3, GIVEN_BACK, CHARGED])
    // Its check of real sizes may end later than these.
    await until(async () => (await backend())?.error === null, 'the end of the check')
    const { checks } = (await (await fetch(`http://127.0.0.1:${metricsPort}/ready`)).json()) as Ready
    expect(checks.images).toMatch(/refuses a PUT of 2\.0 MiB \(413 \w+\), so such images fail: raise the largest size/)
  })

  it('pauses, says so and gives the credits back when the bucket begins to refuse', async () => {
    const metricsPort = await freePort()
    await givenWorker(QUICK, { METRICS_PORT: String(metricsPort) })
    const ready = async () => (await (await fetch(`http://127.0.0.1:${metricsPort}/ready`)).json()) as Ready
    expect(await (await submit()).end()).toMatchObject({ status: 'succeeded' })
    expect(await ready()).toMatchObject({ checks: { images: 'ok' } })

    s3.fault = refusing(403, 'AccessDenied', isPut)
    const first = await submit()
    await paused(/403 AccessDenied/)
    const second = await submit()
    await until(async () => (await ready()).checks.images?.includes('403 AccessDenied'), 'the sentence in /ready')
    expect((await ready()).status).toBe('degraded')
    expect(await first.end()).toMatchObject({ status: 'failed', error: NOT_STORED })
    expect([await first.charges(), (await first.row()).attempt]).toEqual([GIVEN_BACK, 1])
    expect([drawn(), (await second.row()).status]).toEqual([2, 'queued'])

    s3.fault = undefined
    expect(await second.end()).toMatchObject({ status: 'succeeded' })
    expect([drawn(), await second.charges()]).toEqual([3, CHARGED])
    await until(async () => (await ready()).checks.images === 'ok', 'the end of the problem in /ready')
  })

  it('draws each generation once when a bucket takes all probes and no image', async () => {
    s3.fault = refusing(403, 'AccessDenied', isPutOfImage)
    await givenWorker()
    const generations = [await submit(), await submit(), await submit()]
    for (const generation of generations) {
      expect(await generation.end()).toMatchObject({ status: 'failed', error: NOT_STORED })
      expect(await generation.charges()).toEqual(GIVEN_BACK)
    }
    expect(drawn()).toBe(3)
  })

  describe('while drawn images wait for the bucket', () => {
    async function givenHeld() {
      const worker = await givenWorker(PATIENT)
      s3.fault = refusing(403, 'AccessDenied', isPut)
      const generation = await submit()
      await paused(/403/)
      return { ...generation, worker }
    }

    it('stores them when it takes images again, without another draw', async () => {
      const { id, row, end, charges } = await givenHeld()
      // Longer than a lease: it is renewed meanwhile.
      const lease = async () => (await row()).lease_until as Date
      const first = await lease()
      await until(async () => (await lease()) > first, 'the lease being renewed')
      expect((await row()).status).toBe('processing')
      s3.fault = undefined
      const { status, output } = await end()
      expect([status, drawn(), await charges()]).toEqual(['succeeded', 1, CHARGED])
      expect((await call(context.service.url, 'GET', `/cdn/${output.images[0].id}.png`)).status).toBe(200)
      expect((await rowOf(context.service.db, { id })).attempt).toBe(1)
    })

    it('lets them go when their generation is canceled, and draws the next one afterwards', async () => {
      const { id, user, end, charges } = await givenHeld()
      await call(context.service.url, 'POST', `/api/v1/generate/${id}/cancel`, { key: user.key })
      expect(await end()).toMatchObject({ status: 'failed', error: 'Canceled.' })
      expect(await charges()).toEqual(GIVEN_BACK)
      s3.fault = undefined
      expect(await (await submit()).end()).toMatchObject({ status: 'succeeded' })
      expect(drawn()).toBe(2)
    })

    it('puts their generation back when its worker leaves, for another one to draw and charge once', async () => {
      const { end, row, charges, worker } = await givenHeld()
      await worker.stop()
      expect(await row()).toMatchObject({ status: 'queued', attempt: 2, tries: 0 })
      s3.fault = undefined
      await givenWorker()
      expect(await end()).toMatchObject({ status: 'succeeded' })
      expect([drawn(), await charges()]).toEqual([2, CHARGED])
    })
  })
})
