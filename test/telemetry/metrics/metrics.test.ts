import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ROOT } from '../../support/compile.js'
import { freePort } from '../../support/free-port.js'
import { redisAvailable } from '../../support/services.js'
import { until } from '../../support/until.js'
import {
  deliveredBy,
  letThingsHappen,
  type Observed,
  openedMetrics,
  scrape,
  secretsOf,
  startObserved,
} from './observed.js'
import { DASHBOARD, RULES } from './prometheus.js'

describe.skipIf(!redisAvailable)('the metrics of server and worker', () => {
  let observed: Observed
  const ports = { server: 0, worker: 0 }
  const scrapeBoth = async () => `${await scrape(ports.server)}${await scrape(ports.worker)}`

  beforeAll(async () => {
    Object.assign(ports, { server: await freePort(), worker: await freePort() })
    observed = await startObserved(ports.server)
    const env = { INFERENCE_URL: observed.gpu.inferenceUrl, METRICS_PORT: `${ports.worker}` }
    await observed.service.worker({ metrics: openedMetrics('worker') }, env)
    await letThingsHappen(observed)
    await until(async () => (await deliveredBy(ports.server)) === 2, 'both webhooks')
  })
  afterAll(() => observed?.close())

  it('count what happened, under names and labels in order', async () => {
    const expected = [
      'easel_submits_total{outcome="accepted"} 3',
      'easel_submits_total{outcome="invalid_request"} 1',
      'easel_submits_total{outcome="active_generation"} 1',
      'easel_credits_charged_total 3',
      'easel_credits_refunded_total 1',
      'easel_generations_failed_total{reason="canceled"} 1',
      'easel_http_requests_total{method="GET",route="none",status="404"} 1',
      'easel_rate_limited_total{limit="personal"} 2',
      'easel_reported_images 1',
      'easel_check_ok{check="postgres"} 1',
      'easel_check_ok{check="redis"} 1',
      'easel_moderation_hits_total{category="sexual acts with animals"} 1',
      'easel_audit_violations{invariant="balance-is-sum-of-ledger"} 0',
      `easel_model_swaps_total{backend="${observed.gpu.inferenceUrl}"} 2`,
      'easel_generations_succeeded_total{model="ponyDiffusionV6XL.safetensors"} 1',
    ]
    const { pool } = observed.service.db
    const twoDays = `INSERT INTO image_reports (slug, reason, at) SELECT slug, 'other', now() - interval '2 days' FROM images LIMIT 1`
    expect((await pool.query(twoDays)).rowCount).toBe(1)
    const missing = async () => {
      const lines = (await scrapeBoth()).split('\n')
      return expected.filter((line) => !lines.includes(line))
    }
    // The state of the service is read at most once a second.
    await expect.poll(missing).toEqual([])
  })

  it('tell in seconds when the last audit ended', async () => {
    const told = async () => Number(/^easel_audit_last_timestamp_seconds (\S+)$/m.exec(await scrape(ports.server))?.[1])
    const { rows } = await observed.service.db.pool.query('SELECT finished_at FROM last_audit')
    // An audit may have ended since; the state is read at most once a second.
    await until(async () => (await told()) >= rows[0].finished_at.getTime() / 1000, 'the time of the audit')
    expect(await told()).toBeLessThan((rows[0].finished_at.getTime() / 1000) * 2)
  })

  it('tell how long the oldest report of a visitor is open, until its image is taken down', async () => {
    const { pool } = observed.service.db
    const oldest = async () =>
      Number(/^easel_reported_images_oldest_seconds (\S+)$/m.exec(await scrape(ports.server))?.[1])
    await until(async () => (await oldest()) > 2 * 86_400 - 60, 'the age of the report')
    await pool.query('UPDATE images SET removed_at = now() WHERE slug IN (SELECT slug FROM image_reports)')
    await until(async () => (await oldest()) === 0, 'the end of the report')
  })

  it('tell no prompt, no key and nobody’s name', async () => {
    expect(await scrapeBoth()).not.toMatch(secretsOf(observed))
  })

  it('include every metric that alerts and dashboard ask for', async () => {
    const known = new Set([...(await scrapeBoth()).matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name))
    const asked = (await Promise.all([RULES, DASHBOARD].map((file) => readFile(file, 'utf8')))).join('\n')
    const names = [...new Set(asked.match(/\b(easel|nodejs|process)_\w+/g))]
    expect(names.length).toBeGreaterThan(20)
    expect(names.filter((name) => !known.has(name.replace(/_(bucket|sum|count)$/, '')))).toEqual([])
  })
})

it('the runbooks have a part for every alert', async () => {
  const rules = await readFile(RULES, 'utf8')
  const runbooks = await readFile(join(ROOT, 'docs/runbooks.md'), 'utf8')
  const alerts = [...rules.matchAll(/alert: (\w+)/g)].map(([, name]) => name as string)
  expect([...runbooks.matchAll(/^## (\w+)$/gm)].map(([, name]) => name).sort()).toEqual([...alerts].sort())
  for (const name of alerts) expect(rules).toContain(`runbook: docs/runbooks.md#${name.toLowerCase()}\n`)
})
