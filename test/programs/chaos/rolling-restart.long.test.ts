import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SEED_MODELS } from '../../../src/core/catalog/model-version.js'
import { type Config, parseConfig } from '../../../src/process/config.js'
import { type A1111StandIn, startA1111StandIn } from '../../stand-ins/a1111/a1111-stand-in.js'
import { useDatabase } from '../../support/database.js'
import { givenUser } from '../../support/givens.js'
import { redisAvailable, redisUrl } from '../../support/services.js'
import { until } from '../../support/until.js'
import { balancedClient } from './balanced-client.js'
import { Fleet } from './rolling-fleet.js'
import { RollingLoad, unexpected } from './rolling-load.js'
import { startWatchdog, type Watchdog } from './watchdog.js'

const GPU_LATENCY_MS = 150
const MODELS = SEED_MODELS.map(({ filename }) => filename)

describe.skipIf(!redisAvailable)('replacing and restarting every server and worker under load', () => {
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
  }, 480_000)
  afterAll(async () => {
    load.stopping = true
    await fleet?.kill()
    client.close()
    for (const gpu of gpus) await gpu.close()
    watchdog?.dismiss()
    await rm(directory, { recursive: true, force: true })
  })

  it('fails no request, and fails, repeats and refunds no generation', { timeout: 480_000 }, async () => {
    const { db } = database
    const users = await Promise.all(Array.from({ length: 7 }, () => givenUser(db, { credits: 10_000 })))
    const lives = Promise.all(users.map((user, i) => (i < 2 ? load.createImage(user) : load.submitAndPoll(user))))
    lives.catch(() => undefined) // awaited below, unless a restart fails first
    await until(() => load.delivered >= 10, 'load before the first restart')

    const replaceServers = async () => {
      await fleet.replaceServer(0)
      await fleet.restartServer(1)
      await fleet.restartServer(0)
    }
    await Promise.all([replaceServers(), fleet.replaceWorkers()])
    const before = load.delivered
    await until(() => load.delivered >= before + 10, 'load after the last restart')
    load.stopping = true
    await lives

    const lost = unexpected(client.exchanges)
    expect(lost, lost.join('\n')).toEqual([])
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
