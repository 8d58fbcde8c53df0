import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openMetrics } from '../../src/metrics/open-metrics.js'
import { type OwnRedis, startOwnRedis } from '../redis/own-redis.js'
import { type A1111StandIn, startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import { call, endOf, PROMPT } from '../support/client.js'
import { ROOT } from '../support/compile.js'
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.js'
import { givenWebhook, INSIDE } from '../support/given-webhook.js'
import { type GivenUser, givenUser } from '../support/givens.js'
import { findPrometheus } from '../support/programs.js'
import { freePort } from '../support/server-process.js'
import { type Service, startService } from '../support/service.js'
import { redisAvailable } from '../support/services.js'
import { unguarded } from '../support/unguarded.js'
import { until } from '../support/until.js'
import { startWorkerProcess, type WorkerProcess } from '../support/worker-process.js'
import { CONFIG, DASHBOARD, type Prometheus, promtool, RULES, startPrometheus } from './prometheus.js'

const program = redisAvailable ? await findPrometheus() : undefined
const prometheusPath = program as string

/** In every prompt, and nowhere else. */
const CANARY = 'quokkaverb'
/** A process of its own has this one. */
const NAMESPACE = { namespace: 'easel' }
const SMALL = { width: 256, height: 256, steps: 1 }
const USERS = 8
/** Of the model versions 10 and 1. */
const MODELS = ['ponyDiffusionV6XL.safetensors', 'noobaiXL_v11.safetensors']

let redis: OwnRedis
let gpu: A1111StandIn
let proxy: FaultProxy
let outside: Server
/** How moderation endpoint and receiver of webhooks answer. */
let outsideStatus = 200
let service: Service
/** A second server, whose way to Postgres can be cut. */
let other: { readonly url: string }
let worker: WorkerProcess
let prometheus: Prometheus
const users: GivenUser[] = []
const ports = { server: 0, other: 0, worker: 0 }

const openedMetrics = () => openMetrics({ process: 'server', version: 'test' })
const scrape = async (port: number) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
const submit = (user: GivenUser | undefined, more: object = {}, url = service.url) =>
  call(url, 'POST', '/api/v1/generate', {
    key: user?.key ?? '',
    body: { ...PROMPT, ...SMALL, prompt: `${CANARY} at dusk`, ...more },
  })

describe.skipIf(program === undefined)('what Prometheus gets', () => {
  beforeAll(async () => {
    Object.assign(ports, { server: await freePort(), other: await freePort(), worker: await freePort() })
    const address = (port: number) => `127.0.0.1:${port}`
    // Early, since it looks for its targets in the first seconds only now and then.
    prometheus = await startPrometheus(prometheusPath, {
      'easel-server': [address(ports.server), address(ports.other)],
      'easel-worker': [address(ports.worker)],
    })
    outside = createServer((_request, response) => {
      response.writeHead(outsideStatus, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ results: [{ flagged: false, categories: {} }] }))
    })
    await new Promise<void>((listening) => outside.listen(0, '127.0.0.1', listening))
    const outsideUrl = `http://127.0.0.1:${(outside.address() as AddressInfo).port}`
    ;[redis, gpu] = [await startOwnRedis(), await startA1111StandIn({ models: MODELS, latencyMs: 20 })]
    const env = {
      ...INSIDE,
      ...{ REDIS_URL: redis.url, METRICS_PORT: `${ports.server}`, MODERATION_URL: `${outsideUrl}/moderations` },
      ...{ RATE_LIMIT_MAX: '100', RATE_LIMIT_WINDOW_SECONDS: '60' },
    }
    const auditTimes = { firstAfterMs: 0, pollEveryMs: 200, everyMs: 1000, limitMs: 10_000 }
    service = await startService({ redis: false, env, server: { ...NAMESPACE, metrics: openedMetrics(), auditTimes } })
    proxy = await startFaultProxy(service.config.databaseUrl)
    other = await service.server(
      { metrics: openedMetrics() },
      { DATABASE_URL: proxy.through(service.config.databaseUrl), METRICS_PORT: `${ports.other}` },
    )
    worker = await startWorkerProcess(
      { ...service.config, redisUrl: redis.url },
      // With traces, too, which wrap the same ports.
      { METRICS_PORT: `${ports.worker}`, INFERENCE_URL: gpu.inferenceUrl, OTEL_EXPORTER_OTLP_ENDPOINT: outsideUrl },
    )
    for (let n = 0; n < USERS; n++) users.push(await givenUser(service.db))
    const [first] = users
    await givenWebhook(service, first as GivenUser, `${outsideUrl}/hook`)
  })
  afterAll(async () => {
    await prometheus?.stop()
    worker?.kill('SIGKILL')
    await proxy?.pass()
    await service?.close()
    await Promise.all([proxy?.close(), gpu?.close(), redis?.kill()])
    outside?.close()
  })

  it('counts what happens, under names and labels in order, and tells no prompt, no key and nobody’s name', async () => {
    const [one, two, three] = users
    for (const model of [10, 1]) {
      const { body } = await submit(one, { model_version_id: model })
      expect(await endOf(service, one as GivenUser, body.id)).toMatchObject({ status: 'succeeded' })
    }
    await submit(two, { prompt: '' })
    await submit(two, { prompt: `${CANARY} bestiality` })
    gpu.set({ latencyMs: 60_000 })
    const asked = gpu.asked().length
    const { body } = await submit(two)
    await submit(two)
    await until(() => gpu.asked().length > asked, 'the GPU server being asked for it')
    await call(service.url, 'POST', `/api/v1/generate/${body.id}/cancel`, { key: (two as GivenUser).key })
    gpu.set({ latencyMs: 20 })
    await call(service.url, 'GET', `/no/${CANARY}`)
    for (let n = 0; n <= 101; n++) await call(service.url, 'GET', '/api/v1/account', { key: (three as GivenUser).key })
    // Either server may send one.
    const delivered = async (port: number) =>
      Number(/webhook_tries_total\{result="delivered"\} (\d+)/.exec(await scrape(port))?.[1])
    await until(async () => (await delivered(ports.server)) + (await delivered(ports.other)) === 2, 'both webhooks')
    const text = await scrape(ports.server)
    const texts = [text, await scrape(ports.worker)]
    for (const line of [
      'easel_submits_total{outcome="accepted"} 3',
      'easel_submits_total{outcome="invalid_request"} 1',
      'easel_submits_total{outcome="active_generation"} 1',
      'easel_credits_charged_total 3',
      'easel_credits_refunded_total 1',
      'easel_generations_failed_total{reason="canceled"} 1',
      'easel_http_requests_total{method="GET",route="none",status="404"} 1',
      'easel_rate_limited_total{limit="personal"} 2',
      'easel_check_ok{check="postgres"} 1',
      'easel_check_ok{check="redis"} 1',
      'easel_moderation_hits_total{category="sexual acts with animals"} 1',
      'easel_audit_violations{invariant="balance-is-sum-of-ledger"} 0',
    ])
      expect(text.split('\n')).toContain(line)
    expect(texts[1]).toContain(`easel_model_swaps_total{backend="${gpu.inferenceUrl}"} 2\n`)
    expect(texts[1]).toContain('easel_generations_succeeded_total{model="ponyDiffusionV6XL.safetensors"} 1\n')
    for (const one of texts) {
      expect(one).not.toMatch(
        new RegExp([CANARY, 'easel_[0-9A-Za-z]{36}', 'gen_', ...users.map((u) => u.username)].join('|')),
      )
      expect(await promtool(prometheusPath, ['check', 'metrics'], one)).toBe('')
    }
  })

  it('has every metric that alerts and dashboard ask for', async () => {
    const told = `${await scrape(ports.server)}${await scrape(ports.worker)}`
    const known = new Set([...told.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name))
    const asked = (await Promise.all([RULES, DASHBOARD].map((file) => readFile(file, 'utf8')))).join('\n')
    const names = [...new Set(asked.match(/\b(easel|nodejs|process)_\w+/g))]
    expect(names.length).toBeGreaterThan(20)
    expect(names.filter((name) => !known.has(name.replace(/_(bucket|sum|count)$/, '')))).toEqual([])
  })

  it('has a part in the runbooks for every alert', async () => {
    const rules = await readFile(RULES, 'utf8')
    const runbooks = await readFile(join(ROOT, 'docs/runbooks.md'), 'utf8')
    const alerts = [...rules.matchAll(/alert: (\w+)/g)].map(([, name]) => name as string)
    expect([...runbooks.matchAll(/^## (\w+)$/gm)].map(([, name]) => name).sort()).toEqual([...alerts].sort())
    for (const name of alerts) expect(rules).toContain(`runbook: docs/runbooks.md#${name.toLowerCase()}\n`)
  })

  it('is configured as promtool wants it, and every rule is loaded and evaluated', async () => {
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
    await until(async () => !(await isMissing()), 'every process')
    await until(async () => (await prometheus.query('easel_audit_last_timestamp_seconds')).length > 0, 'an audit')
    // How fast everything is says more of the machine.
    const slow = ['EaselEventLoopSlow', 'EaselSubmitsSlow']
    expect((await prometheus.firing()).filter((name) => !slow.includes(name))).toEqual([])
  })

  it('raises each alert when what it watches breaks, and then has data for each query of the dashboard', async () => {
    const { pool } = service.db
    const seen = new Set<string>()
    const fires = async (...names: string[]) => {
      const missing = () => names.filter((name) => !seen.has(name))
      await until(
        async () => {
          for (const name of await prometheus.firing()) seen.add(name)
          return missing().length === 0
        },
        'each of them',
        15_000,
      ).catch(() => expect(missing()).toEqual([]))
    }
    const [one, two] = users as [GivenUser, GivenUser]

    // Credits out of nothing; a Redis that may drop keys; an endpoint and a receiver that fail; a GPU that refuses its work.
    await pool.query('UPDATE users SET credits = credits + 1 WHERE id = $1', [one.id])
    const admin = new Redis(redis.url)
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru')
    admin.disconnect()
    outsideStatus = 500
    gpu.set({ fault: { status: 422, body: { detail: 'no' } } })
    await Promise.all(users.map((user) => submit(user)))
    await fires('EaselAuditViolations', 'EaselRedisDegraded', 'EaselModerationSilent')
    await fires('EaselWebhooksFailing', 'EaselGenerationsFailing')

    // A lock that makes a submit wait; a process that does nothing else for a while.
    const locker = await pool.connect()
    await locker.query('BEGIN; LOCK TABLE credit_ledger IN EXCLUSIVE MODE')
    const slow = submit(two)
    const isWaiting = async () =>
      (await pool.query(`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`))
        .rowCount
    await until(isWaiting, 'its waiting for the lock')
    setTimeout(() => void locker.query('COMMIT').then(() => locker.release()), 1200)
    expect((await slow).status).toBe(201)
    for (const until = performance.now() + 1800; performance.now() < until; );
    await fires('EaselSubmitsSlow', 'EaselEventLoopSlow')

    // A GPU server that breaks off and is gone, and what waits for it since long ago.
    gpu.set({ fault: 'drop' })
    const { body: waiting } = await submit(one)
    await until(async () => /retries_total\{.*\} [1-9]/.test(await scrape(ports.worker)), 'what was put back')
    await gpu.refuse()
    await unguarded(service.db, `UPDATE generations SET created_at = now() - interval '20 minutes' WHERE id = $1`, [
      waiting.id,
    ])
    await fires('EaselBackendDown', 'EaselQueueStuck')

    // The same, of audits and repairs that nobody can do any more.
    await pool.query(`UPDATE leases SET holder = 'nobody', until = now() + interval '1 hour' WHERE name = 'audit'`)
    await until(async () => {
      await pool.query(`UPDATE last_audit SET finished_at = now() - interval '2 hours'`)
      return (await prometheus.firing()).includes('EaselAuditOverdue')
    })
    await fires('EaselAuditOverdue')
    await pool.query(
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
       UPDATE leases SET until = now() - interval '1 minute' WHERE name = 'reconciler';
       CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON leases FOR EACH ROW EXECUTE FUNCTION refuse()`,
    )
    // Prometheus must see what follows beside what was.
    await fires('EaselReconcilerStale')
    await pool.query('DROP TRIGGER refuse ON leases')
    await pool.query(
      'DELETE FROM drizzle.__drizzle_migrations WHERE id = (SELECT max(id) FROM drizzle.__drizzle_migrations)',
    )
    await fires('EaselDatabaseNotMigrated')

    // A way to Postgres that is cut, and a worker that is killed.
    await proxy.refuse()
    const asking = setInterval(() => void call(other.url, 'GET', '/api/v1/account', { key: two.key }), 50)
    onTestFinished(() => clearInterval(asking))
    worker.kill('SIGKILL')
    await fires('EaselPostgresAway', 'EaselServerErrors', 'EaselProcessMissing')

    expect([...seen].sort()).toEqual((await prometheus.rules()).map(({ name }) => name).sort())
    expect(await unanswered()).toEqual([])
  })
})

it.skipIf(program === undefined)('a single error where little is asked wakes nobody', async () => {
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
})

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
