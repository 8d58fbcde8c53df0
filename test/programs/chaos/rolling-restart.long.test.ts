import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SEED_MODELS } from '../../../src/catalog/seed.js'
import { type Config, parseConfig } from '../../../src/config.js'
import { type A1111StandIn, startA1111StandIn } from '../../stand-ins/a1111/a1111-stand-in.js'
import { call, endOf, expectCreateError } from '../../support/client.js'
import { useDatabase } from '../../support/database.js'
import { chargesOf, type GivenUser, givenUser, rowOf } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { redisAvailable, redisUrl } from '../../support/services.js'
import { until } from '../../support/until.js'
import { balancedClient } from './balanced-client.js'
import { Fleet } from './rolling-fleet.js'
import { isUnexpected, RollingLoad } from './rolling-load.js'
import { startWatchdog, type Watchdog } from './watchdog.js'

const GPU_LATENCY_MS = 150
const MODELS = SEED_MODELS.map(({ filename }) => filename)

describe.skipIf(!redisAvailable)('every server and worker replaced and restarted under load', () => {
  const database = useDatabase()
  const gpus: A1111StandIn[] = []
  const client = balancedClient()
  const load = new RollingLoad(client)
  let fleet: Fleet
  let watchdog: Watchdog
  let directory: string

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'easel-rolling-'))
    watchdog = startWatchdog(directory)
    for (let i = 0; i < 2; i++) gpus.push(await startA1111StandIn({ latencyMs: GPU_LATENCY_MS, models: MODELS }))
    const config: Config = parseConfig({
      DATABASE_URL: database.url,
      REDIS_URL: await redisUrl(),
      STORAGE_URL: `file:${directory}/images`,
      BASE_URL: 'http://easel.test',
      RATE_LIMIT_MAX: '100000',
    })
    fleet = new Fleet({ config, client, watchdog, gpus: gpus.map(({ inferenceUrl }) => inferenceUrl) })
    await fleet.start(2)
  }, 120_000)
  afterAll(async () => {
    load.stopping = true
    await fleet?.kill()
    client.close()
    for (const gpu of gpus) await gpu.close()
    watchdog?.dismiss()
    await rm(directory, { recursive: true, force: true })
  })

  it('breaks no request, fails and repeats no generation and gives nothing back', { timeout: 180_000 }, async () => {
    const { db } = database
    const users = await Promise.all(Array.from({ length: 11 }, () => givenUser(db, { credits: 10_000 })))
    const lives = Promise.all(users.map((user, i) => (i < 3 ? load.createImage(user) : load.submitAndPoll(user))))
    lives.catch(() => undefined) // awaited below, unless a restart fails first
    await until(() => load.delivered >= 10, 'load before the first restart', 30_000)

    const replaceServers = async () => {
      await fleet.replaceServer(0)
      await fleet.restartServer(1)
      await fleet.restartServer(0)
    }
    await Promise.all([replaceServers(), fleet.replaceWorkers()])
    const before = load.delivered
    await until(() => load.delivered >= before + 10, 'load after the last restart', 30_000)
    load.stopping = true
    await lives

    expect(client.exchanges.filter(isUnexpected)).toEqual([])
    const told = await fleet.ends()
    expect(told.map(({ who, how }) => [who, how]).sort()).toEqual([
      ...Array(3).fill(['server', 0]),
      ...Array(2).fill(['worker', 0]),
    ])
    const { rows } = await db.pool.query(
      'SELECT status, attempt, tries, count(*)::int FROM generations GROUP BY status, attempt, tries',
    )
    expect(rows).toEqual([{ status: 'succeeded', attempt: 1, tries: 0, count: load.delivered }])
    const moved = await db.pool.query(
      `SELECT kind, delta::int, count(*)::int, count(DISTINCT generation_id)::int AS generations
         FROM credit_ledger WHERE kind <> 'grant' GROUP BY kind, delta`,
    )
    expect(moved.rows).toEqual([{ kind: 'charge', delta: -1, count: load.delivered, generations: load.delivered }])
  })
})

describe('a server that is told to end while Create Image clients wait for a slow GPU', () => {
  let gpu: A1111StandIn
  const context = useService(async () => {
    gpu = await startA1111StandIn({ latencyMs: 900, models: MODELS })
    return { worker: true, env: { INFERENCE_URL: gpu.inferenceUrl, RATE_LIMIT_MAX: '1000' } }
  })
  afterAll(() => gpu.close())

  it('serves those whose image comes in time, and sends the others away with their generations going on', async () => {
    const { service } = context
    const { db } = service
    const leaving = await service.server({ noticeMs: 100, waitersMs: 1400 })
    const [early, late] = [await givenUser(db), await givenUser(db)]
    const create = ({ key }: GivenUser) =>
      call(leaving.url, 'POST', '/v1/images/generate', {
        key,
        body: { prompt: 'x', width: 256, height: 256 },
        headers: { 'idempotency-key': 'k' },
      })
    const served = create(early)
    await until(() => gpu.asked().length === 1, 'the first inference')
    const sentAway = create(late)
    await until(async () => (await chargesOf(db, late)).length === 1, 'the second submission')
    const stopped = leaving.stop()
    expect(await served).toMatchObject({ status: 200, body: { success: true } })
    const answer = await sentAway
    expectCreateError(answer, 503, 'unavailable', /^This server is restarting\. Generation gen_\w+ goes on/, {
      retry_after: 2,
    })
    expect(answer.headers.get('retry-after')).toBe('2')
    await stopped
    const { rows } = await db.pool.query('SELECT id FROM generations WHERE user_id = $1', [late.id])
    expect(await endOf(service, late, rows[0].id)).toMatchObject({ status: 'succeeded' })
    expect(await chargesOf(db, late)).toEqual([['charge', -1]])
    expect(await rowOf(db, rows[0])).toMatchObject({ attempt: 1, tries: 0 })
  })
})
