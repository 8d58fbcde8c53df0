import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCli as runCliOfNow } from '../../../src/cli/run-cli.js'
import { createDatabase, type Database } from '../../../src/db/client.js'
import { type Config, parseConfig } from '../../../src/process/config.js'
import { PASSWORD } from '../../support/given-sign-in.js'
import { compiled, createEmptyDatabase, redisAvailable, redisUrl } from '../../support/services.js'
import { until } from '../../support/until.js'
import { balancedClient } from '../chaos/balanced-client.js'
import { Fleet } from '../chaos/rolling-fleet.js'
import { RollingLoad, unexpected } from '../chaos/rolling-load.js'
import { startWatchdog, type Watchdog } from '../chaos/watchdog.js'
import { type Everyone, useEverything } from './all-requests.js'
import { bundlePreviousRelease, hasPreviousRelease, PREVIOUS_RELEASE } from './previous-release.js'

const WEBHOOKS = { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32' }

/** A command line in this process, with --json. */
async function easel(runCli: typeof runCliOfNow, env: Record<string, string>, line: string) {
  const said = { stdout: '', stderr: '' }
  const into = (name: keyof typeof said) => ({ write: (text: string) => (said[name] += text) })
  const surroundings = { stdout: into('stdout'), stderr: into('stderr'), readPassword: async () => PASSWORD }
  const code = await runCli([...line.split(' '), '--json'], env, surroundings)
  if (code !== 0) throw new Error(`${line}: ${said.stderr}${said.stdout}`)
  return JSON.parse(said.stdout)
}

describe.skipIf(!redisAvailable || !(await hasPreviousRelease()))(
  'an upgrade from the previous release',
  { timeout: 480_000 },
  () => {
    const client = balancedClient()
    const load = new RollingLoad(client)
    const everyone: Everyone[] = []
    const before: Record<string, string> = {}
    let directory: string
    let watchdog: Watchdog
    let fleet: Fleet
    let config: Config
    let db: Database
    let env: Record<string, string>
    let lives: Promise<unknown>

    /** One of the servers that run now. */
    const everything = async () => {
      const { server } = await client.send({ method: 'GET', path: '/health' })
      return useEverything(server as string, everyone.pop() as Everyone)
    }

    beforeAll(async () => {
      directory = await mkdtemp(join(tmpdir(), 'easel-upgrade-'))
      watchdog = startWatchdog(directory)
      const previous = await bundlePreviousRelease(directory)
      env = { DATABASE_URL: (await createEmptyDatabase()).url, STORAGE_URL: `file:${directory}/images` }
      db = createDatabase(env.DATABASE_URL as string, { maxConnections: 2, onError: () => undefined })
      // The rows are made by the release whose tables these are.
      const { runCli } = await import(previous('src/cli/run-cli.ts'))
      const itsEasel = (line: string) => easel(runCli, { ...env, LOG_LEVEL: 'silent' }, line)
      await itsEasel('migrate')
      const subscriber = async (username: string) => {
        await itsEasel(`user create ${username} --credits 10000 --plan Pro`)
        return { username, key: (await itsEasel(`key create ${username}`)).key as string }
      }
      for (let n = 1; n <= 3; n++) {
        everyone.push(await subscriber(`everyone${n}`))
        await itsEasel(`user password everyone${n}`)
        await itsEasel(`user role everyone${n} operator`)
      }
      const subscribers = await Promise.all([1, 2, 3, 4].map((n) => subscriber(`subscriber${n}`)))
      config = parseConfig({
        ...env,
        REDIS_URL: await redisUrl(),
        BASE_URL: 'http://easel.test',
        RATE_LIMIT_MAX: '100000',
      })
      fleet = new Fleet({ config, client, watchdog, gpus: ['preview:'], env: WEBHOOKS })
      fleet.program = previous
      await fleet.start(2)
      lives = Promise.all(subscribers.map((it, n) => (n === 0 ? load.createImage(it) : load.submitAndPoll(it))))
      lives.catch(() => undefined) // awaited below
    }, 480_000)
    afterAll(async () => {
      load.stopping = true
      await fleet?.kill()
      client.close()
      watchdog?.dismiss()
      await db?.pool.end()
      if (directory) await rm(directory, { recursive: true, force: true })
    })

    it('begins with a release that answers every request of its API', async () => {
      Object.assign(before, await everything())
      const document = JSON.parse(await readFile(join(directory, 'source/docs/openapi.json'), 'utf8'))
      const operations = Object.entries(document.paths).flatMap(([path, operation]) =>
        Object.keys(operation as object).map((method) => `${method.toUpperCase()} ${path}`),
      )
      expect(operations.length).toBeGreaterThan(20)
      expect(operations.filter((operation) => !(operation in before))).toEqual([])
      // 0 and 1 are for what has no status of its own.
      expect(Object.entries(before).filter(([, answer]) => !/^(1|2\d\d|303)\b/.test(answer))).toEqual([
        ['GET /image/{id} removed', '410'],
      ])
    })

    it('goes on with the migrations, after which that release answers every request as before', async () => {
      await until(() => load.delivered > 0, 'load before the migration')
      const { rows } = await db.pool.query('SELECT count(*)::int FROM drizzle.__drizzle_migrations')
      const journal = JSON.parse(await readFile('migrations/meta/_journal.json', 'utf8'))
      expect(journal.entries[rows[0].count - 1].tag).toBe(PREVIOUS_RELEASE.lastMigration)
      const { applied } = await easel(runCliOfNow, env, 'migrate')
      expect(applied).toHaveLength(journal.entries.length - rows[0].count)
      const delivered = load.delivered
      expect(await everything()).toEqual(before)
      await until(() => load.delivered > delivered, 'load after the migration')
    })

    it('ends process by process: both releases work side by side, and no request fails', async () => {
      fleet.program = compiled
      const servers = async () => {
        await fleet.replaceServer(0)
        await fleet.replaceServer(1)
      }
      await Promise.all([servers(), fleet.replaceWorkers()])
      const delivered = load.delivered
      expect(statuses(await everything())).toEqual(statuses(before))
      await until(() => load.delivered > delivered, 'load after the upgrade')
      load.stopping = true
      await lives

      const lost = unexpected(client.exchanges)
      expect(lost, lost.join('\n')).toEqual([])
      expect((await fleet.ends()).map(({ who, how }) => [who, how]).sort()).toEqual([
        ...Array(2).fill(['server', 0]),
        ['worker', 0],
      ])
      const { rows } = await db.pool.query(
        `SELECT status, attempt, count(*)::int FROM generations JOIN users ON users.id = user_id
        WHERE username LIKE 'subscriber%' GROUP BY status, attempt`,
      )
      expect(rows).toEqual([{ status: 'succeeded', attempt: 1, count: load.delivered }])
      const { ok, checks } = await easel(runCliOfNow, { ...env, REDIS_URL: await redisUrl() }, 'audit --full')
      expect([ok, checks.filter(({ violations }: { violations: number }) => violations > 0)]).toEqual([true, []])
    })
  },
)

/** A field may have been added. */
const statuses = (seen: Record<string, string>) =>
  Object.fromEntries(Object.entries(seen).map(([request, answer]) => [request, answer.split(' ')[0]]))
