import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type OwnRedis, startOwnRedis } from '../../redis/own-redis.js'
import { call } from '../../support/client.js'
import { type FaultProxy, startFaultProxy } from '../../support/fault-proxy.js'
import { freePort } from '../../support/free-port.js'
import type { GivenUser } from '../../support/givens.js'
import { findPrometheus } from '../../support/programs.js'
import { redisAvailable } from '../../support/services.js'
import { unguarded } from '../../support/unguarded.js'
import { until } from '../../support/until.js'
import { startWorkerProcess, type WorkerProcess } from '../../support/worker-process.js'
import {
  deliveredBy,
  letThingsHappen,
  type Observed,
  openedMetrics,
  scrape,
  secretsOf,
  startObserved,
  submit,
} from './observed.js'
import { CONFIG, DASHBOARD, type Prometheus, promtool, RULES, startPrometheus } from './prometheus.js'

const program = redisAvailable ? await findPrometheus() : undefined
const prometheusPath = program as string

/** A process of its own has this one. */
const NAMESPACE = 'easel'

let redis: OwnRedis
let proxy: FaultProxy
let observed: Observed
/** A second server, whose way to Postgres can be cut. */
let other: { readonly url: string }
let worker: WorkerProcess
let prometheus: Prometheus
const ports = { server: 0, other: 0, worker: 0 }

describe.skipIf(program === undefined)('Prometheus with our rules', () => {
  beforeAll(async () => {
    Object.assign(ports, { server: await freePort(), other: await freePort(), worker: await freePort() })
    const address = (port: number) => `127.0.0.1:${port}`
    // Early, since it looks for its targets in the first seconds only now and then.
    prometheus = await startPrometheus(prometheusPath, {
      'easel-server': [address(ports.server), address(ports.other)],
      'easel-worker': [address(ports.worker)],
    })
    redis = await startOwnRedis()
    observed = await startObserved(ports.server, { redisUrl: redis.url, namespace: NAMESPACE })
    const { service, gpu, outside } = observed
    proxy = await startFaultProxy(service.config.databaseUrl)
    other = await service.server(
      { metrics: openedMetrics('server') },
      { DATABASE_URL: proxy.through(service.config.databaseUrl), METRICS_PORT: `${ports.other}` },
    )
    worker = await startWorkerProcess(
      { ...service.config, redisUrl: redis.url },
      // With traces, too, which wrap the same ports.
      { METRICS_PORT: `${ports.worker}`, INFERENCE_URL: gpu.inferenceUrl, OTEL_EXPORTER_OTLP_ENDPOINT: outside.url },
    )
    await letThingsHappen(observed)
    // Either server may send one.
    const delivered = async () => (await deliveredBy(ports.server)) + (await deliveredBy(ports.other))
    await until(async () => (await delivered()) === 2, 'both webhooks')
  })
  afterAll(async () => {
    await prometheus?.stop()
    worker?.kill('SIGKILL')
    await proxy?.pass()
    await observed?.close()
    await Promise.all([proxy?.close(), redis?.kill()])
  })

  it('takes the metrics of both processes as promtool wants them, without prompt, key or name', async () => {
    for (const port of [ports.server, ports.worker]) {
      const text = await scrape(port)
      expect(text).not.toMatch(secretsOf(observed))
      expect(await promtool(prometheusPath, ['check', 'metrics'], text)).toBe('')
    }
  })

  it('takes the configuration as promtool wants it, and loads and evaluates every rule', async () => {
    expect(await promtool(prometheusPath, ['check', 'config', CONFIG])).toContain('SUCCESS: 1 rule files found')
    const rules = await until(async () => {
      const all = await prometheus.rules()
      return all.every(({ health }) => health !== 'unknown') && all
    })
    expect(rules.filter(({ health }) => health !== 'ok')).toEqual([])
    expect(rules.length).toBeGreaterThanOrEqual(12)
  })

  it('raises no alert while all is well', async () => {
    // None is there before the first scrape.
    const isMissing = async () => (await prometheus.firing()).includes('EaselProcessMissing')
    const areUp = async () => (await prometheus.query('up{job=~"easel-.+"} == 1')).length === 3
    await until(async () => (await areUp()) && !(await isMissing()), 'every process')
    await until(async () => (await prometheus.query('easel_audit_last_timestamp_seconds')).length > 0, 'an audit')
    // How fast everything is says more of the machine.
    const slow = ['EaselEventLoopSlow', 'EaselSubmitsSlow']
    expect((await prometheus.firing()).filter((name) => !slow.includes(name))).toEqual([])
  })

  it('raises each alert when what it watches breaks, and then has data for each query of the dashboard', async () => {
    const { service, gpu, outside, users } = observed
    const { pool } = service.db
    const seen = new Set<string>()
    const fires = async (names: readonly string[], withinMs = 60_000) => {
      const missing = () => names.filter((name) => !seen.has(name))
      const look = async () => {
        for (const name of await prometheus.firing()) seen.add(name)
        return missing().length === 0
      }
      await until(look, 'all alerts', withinMs).catch(() => expect(missing()).toEqual([]))
    }
    const [one, two] = users as [GivenUser, GivenUser]

    // Credits out of nothing; a Redis that may drop keys; an endpoint and a receiver that fail; a GPU that refuses its work.
    await pool.query('UPDATE users SET credits = credits + 1 WHERE id = $1', [one.id])
    const admin = new Redis(redis.url)
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru')
    admin.disconnect()
    outside.status = 500
    await pool.query(`INSERT INTO payment_objects (kind, id, problem) VALUES ('payment', 'pi_none', 'not_asked_for')`)
    await pool.query(
      `INSERT INTO image_reports (slug, reason, at) SELECT slug, 'other', now() - interval '2 days' FROM images LIMIT 1`,
    )
    gpu.set({ fault: { status: 422, body: { detail: 'no' } } })
    await Promise.all(users.map((user) => submit(service.url, user)))
    await fires(['EaselAuditViolations', 'EaselRedisDegraded', 'EaselModerationSilent'])
    await fires(['EaselWebhooksFailing', 'EaselGenerationsFailing', 'EaselPaymentsUnmatched', 'EaselReportsWaiting'])

    // A lock that makes a submit wait; a process that stands still. Once more if a busy Prometheus has missed them.
    const slowDown = async () => {
      const locker = await pool.connect()
      await locker.query('BEGIN; LOCK TABLE credit_ledger IN EXCLUSIVE MODE')
      const slow = submit(service.url, two)
      const isWaiting = async () =>
        (
          await pool.query(
            `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
          )
        ).rowCount
      await until(isWaiting, 'its waiting for the lock')
      setTimeout(() => void locker.query('COMMIT').then(() => locker.release()), 1200)
      await slow
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1800)
    }
    const isSeen = () =>
      fires(['EaselSubmitsSlow', 'EaselEventLoopSlow'], 5000).then(
        () => true,
        () => false,
      )
    const isSlow = () => slowDown().then(isSeen)
    await until(isSlow, 'slow submits and a slow event loop', 180_000)

    // A GPU server that breaks off and is gone, and what waits for it since long ago.
    gpu.set({ fault: 'drop' })
    const { body: waiting } = await submit(service.url, one)
    await until(async () => /retries_total\{.*\} [1-9]/.test(await scrape(ports.worker)), 'what was put back')
    await gpu.refuse()
    await unguarded(service.db, `UPDATE generations SET created_at = now() - interval '20 minutes' WHERE id = $1`, [
      waiting.id,
    ])
    await fires(['EaselBackendDown', 'EaselQueueStuck'])

    // The same, of audits and repairs that nobody can do any more.
    await pool.query(`UPDATE leases SET holder = 'nobody', until = now() + interval '1 hour' WHERE name = 'audit'`)
    await until(async () => {
      await pool.query(`UPDATE last_audit SET finished_at = now() - interval '2 hours'`)
      return (await prometheus.firing()).includes('EaselAuditOverdue')
    })
    await fires(['EaselAuditOverdue'])
    await pool.query(
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
       UPDATE leases SET until = now() - interval '1 minute' WHERE name = 'reconciler';
       CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON leases FOR EACH ROW EXECUTE FUNCTION refuse()`,
    )
    // Prometheus must see what follows beside what was.
    await fires(['EaselReconcilerStale'])
    await pool.query('DROP TRIGGER refuse ON leases')
    await pool.query(
      'DELETE FROM drizzle.__drizzle_migrations WHERE id = (SELECT max(id) FROM drizzle.__drizzle_migrations)',
    )
    await fires(['EaselDatabaseNotMigrated'])

    // What is read from Postgres has no data any more once nobody reaches it.
    const unansweredBefore = await unanswered()
    // A way to Postgres that is cut, and a worker that is killed.
    await proxy.refuse()
    const asking = setInterval(() => void call(other.url, 'GET', '/api/v1/account', { key: two.key }), 50)
    onTestFinished(() => clearInterval(asking))
    worker.kill('SIGKILL')
    await fires(['EaselPostgresAway', 'EaselServerErrors', 'EaselProcessMissing'])

    expect([...seen].sort()).toEqual((await prometheus.rules()).map(({ name }) => name).sort())
    const unansweredAfter = await unanswered()
    expect(unansweredBefore.filter((query) => unansweredAfter.includes(query))).toEqual([])
  })
})

it.skipIf(program === undefined)(
  'our rules raise no alert for a single error of a route that is seldom asked',
  async () => {
    const directory = await mkdtemp(join(tmpdir(), 'easel-rules-'))
    onTestFinished(() => rm(directory, { recursive: true }))
    const asked = (status: number) => `easel_http_requests_total{instance="a", route="/x", status="${status}"}`
    const test = {
      rule_files: [RULES],
      tests: [
        {
          interval: '15s',
          input_series: [
            { series: asked(200), values: '0+1x60' },
            { series: asked(500), values: '0x20 1x40' },
          ],
          alert_rule_test: [{ eval_time: '8m', alertname: 'EaselServerErrors', exp_alerts: [] }],
        },
      ],
    }
    const file = join(directory, 'quiet.json')
    await writeFile(file, JSON.stringify(test))
    expect(await promtool(prometheusPath, ['test', 'rules', file])).toContain('SUCCESS')
  },
)

it.skipIf(program === undefined)(
  'our rules raise an alert for a process that is gone, not for a scrape that failed',
  async () => {
    const directory = await mkdtemp(join(tmpdir(), 'easel-rules-'))
    onTestFinished(() => rm(directory, { recursive: true }))
    const up = (job: string, instance: string, values: string) => ({
      series: `up{job="${job}", instance="${instance}"}`,
      values,
    })
    const at = (eval_time: string, jobs: readonly string[]) => ({
      ...{ eval_time, alertname: 'EaselProcessMissing' },
      exp_alerts: jobs.map((job) => ({
        exp_labels: { severity: 'critical', job },
        exp_annotations: {
          summary: `Fewer processes of ${job} answer than within the last hour, or none.`,
          description: 'See its log, and whether it was stopped on purpose. Others go on with its work meanwhile.',
          runbook: 'docs/runbooks.md#easelprocessmissing',
        },
      })),
    })
    const test = {
      rule_files: [RULES],
      tests: [
        {
          interval: '15s',
          // One scrape fails after ten minutes; the second server is gone after twenty.
          input_series: [
            up('easel-server', 'a', '1x39 0 1x120'),
            up('easel-server', 'b', '1x79 0x80'),
            up('easel-worker', 'c', '1x39 0 1x120'),
          ],
          alert_rule_test: [at('10m', []), at('10m15s', []), at('12m', []), at('13m', []), at('23m', ['easel-server'])],
        },
      ],
    }
    const file = join(directory, 'missing.json')
    await writeFile(file, JSON.stringify(test))
    expect(await promtool(prometheusPath, ['test', 'rules', file])).toContain('SUCCESS')
  },
)

/** The queries of the dashboard that have no data. */
async function unanswered(): Promise<string[]> {
  interface Panel {
    readonly title: string
    readonly targets?: readonly { readonly expr: string }[]
  }
  const { panels } = JSON.parse(await readFile(DASHBOARD, 'utf8')) as { panels: Panel[] }
  const queries = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })))
  expect(queries.length).toBeGreaterThan(30)
  const without: string[] = []
  for (const { title, expr } of queries) {
    // Whatever was counted in this test, however long ago on a slow machine.
    const found = await prometheus.query(expr.replaceAll('$__rate_interval', '10m'))
    if (found.length === 0) without.push(`${title}: ${expr}`)
  }
  return without
}
