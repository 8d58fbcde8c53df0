import { pino } from 'pino'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { auditResults } from '../../../src/db/audit/audit-results.js'
import {
  type AuditTimes,
  auditTurn,
  type PeriodicAuditPorts,
  startPeriodicAudit,
} from '../../../src/db/audit/periodic-audit.js'
import type { Running } from '../../../src/process/run-process.js'
import { startServer } from '../../../src/process/start-server.js'
import { startWorker } from '../../../src/process/start-worker.js'
import { redisActiveGenerationLock } from '../../../src/redis/active-generation-lock.js'
import { call, endOf, PROMPT } from '../../support/client.js'
import { useDatabase } from '../../support/database.js'
import { givenGeneration, givenUser } from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { redisAvailable } from '../../support/services.js'
import { openRedis } from '../../support/test-redis.js'
import { until } from '../../support/until.js'

const HOUR_MS = 3_600_000
const AT_ONCE: AuditTimes = { firstAfterMs: 0, pollEveryMs: 10, everyMs: HOUR_MS, limitMs: 60_000 }
const INFO = 30
const WARN = 40
const ERROR = 50

interface Line {
  readonly level: number
  readonly msg: string
  readonly [fact: string]: unknown
}

/** A log whose lines about the audit are kept. */
function givenLog() {
  const lines: Line[] = []
  const keep = (text: string) => {
    const line = JSON.parse(text) as Line
    if (line.msg.startsWith('audit ')) lines.push(line)
  }
  return { lines, log: pino({}, { write: keep }) }
}

describe('a running service', () => {
  const held = useService({ worker: true, env: { RATE_LIMIT_MAX: '1000' } })
  // What it has done so far: a batch through one interface, a metered image through the other.
  beforeAll(async () => {
    const { url, db } = held.service
    const [user, developer] = [await givenUser(db), await givenUser(db, { developer: { concurrency: 1 } })]
    const body = { ...PROMPT, batch_size: 2, width: 256, height: 256 }
    const submitted = await call(url, 'POST', '/api/v1/generate', { key: user.key, body })
    expect(await endOf(held.service, user, submitted.body.id)).toMatchObject({ status: 'succeeded' })
    const asked = { key: developer.key, body: { prompt: PROMPT.prompt, width: 256, height: 256 } }
    expect((await call(url, 'POST', '/v1/images/generate', asked)).status).toBe(200)
  })

  /** One more server or worker, whose turn it is; resolves to what it logs. */
  async function auditBy(start: typeof startServer | typeof startWorker): Promise<Line> {
    const { config, namespace, db } = held.service
    await db.pool.query(`DELETE FROM leases WHERE name = 'audit'`)
    const { lines, log } = givenLog()
    const process: Running = await start({ ...config, port: 0 }, log, { namespace, auditTimes: AT_ONCE })
    const line = await until(() => lines[0], 'the audit')
    await process.stop()
    expect(lines).toHaveLength(1)
    return line
  }

  it.each([
    ['a server', startServer],
    ['a worker', startWorker],
  ])('is audited by %s, which logs every count if nothing is wrong', async (_name, start) => {
    const { level, checks } = await auditBy(start)
    expect(level).toBe(INFO)
    expect(checks).toMatchObject({ 'balance-is-sum-of-ledger': 0, 'images-are-stored-intact': 0 })
    if (redisAvailable) expect(checks).toMatchObject({ 'locks-belong-to-active-jobs': 0 })
    // Walking through every file is for the command line.
    expect(checks).not.toHaveProperty('files-belong-to-images')
  })

  it('is reported at the level of errors if an invariant is violated, with the counts of the violated ones', async () => {
    const { service } = held
    const { config, namespace, db } = service
    const user = await givenUser(db)
    const violated: Record<string, number> = { 'balance-is-sum-of-ledger': 1 }
    await db.pool.query('UPDATE users SET credits = credits + 1 WHERE id = $1', [user.id])
    if (config.redisUrl) {
      const redis = await openRedis(config.redisUrl)
      onTestFinished(() => redis.disconnect())
      const { id } = await givenGeneration(db, await givenUser(db))
      // Once it has ended, the reconciler clears its lock.
      await db.pool.query(`UPDATE generations SET not_before = now() + interval '1 hour' WHERE id = $1`, [id])
      await redisActiveGenerationLock(redis, namespace).keep([{ accountId: user.id, generationId: id, ttlMs: HOUR_MS }])
      violated['locks-belong-to-active-jobs'] = 1
    }
    expect(await auditBy(startServer)).toMatchObject({ level: ERROR, violated })
    // For the operator's console.
    const last = await auditResults(db.pool).last()
    const counted = last?.checks.filter((check) => check.violations > 0).map((it) => [it.name, it.violations])
    expect(Object.fromEntries(counted ?? [])).toEqual(violated)
  })
})

describe('the processes of a service', () => {
  const context = useDatabase()

  /** A process that takes turns with the others over the file's Postgres. */
  function givenProcess(
    name: string,
    { work = async () => [], ...times }: { readonly work?: PeriodicAuditPorts['audit'] } & Partial<AuditTimes> = {},
  ) {
    const seen = { looks: 0, audits: 0 }
    const { lines, log } = givenLog()
    const turn = auditTurn(context.db.pool, name)
    const ports: PeriodicAuditPorts = {
      log,
      results: auditResults(context.db.pool),
      turn: {
        ...turn,
        take: async (forMs) => {
          const taken = await turn.take(forMs)
          seen.looks++
          return taken
        },
      },
      audit: (signal) => {
        seen.audits++
        return work(signal)
      },
    }
    const { stop } = startPeriodicAudit(ports, { ...AT_ONCE, ...times })
    onTestFinished(stop)
    return Object.assign(seen, { lines, stop })
  }
  type Process = ReturnType<typeof givenProcess>

  const afresh = () => context.db.pool.query(`DELETE FROM leases WHERE name = 'audit'`)
  const looksOf = (process: Process) => {
    const before = process.looks
    return until(() => process.looks >= before + 3, 'three looks')
  }
  const hang = () => new Promise<never>(() => undefined)

  it('audit once in each period all together, whichever of them is first', async () => {
    await afresh()
    const processes = [givenProcess('one'), givenProcess('two')]
    const young = givenProcess('young', { firstAfterMs: HOUR_MS })
    const audits = () => processes.reduce((n, process) => n + process.audits, 0)
    for (const so_far of [1, 2]) {
      await until(() => audits() === so_far, 'the next audit')
      await Promise.all(processes.map(looksOf))
      expect(audits()).toBe(so_far)
      await context.db.pool.query(`UPDATE leases SET until = now() WHERE name = 'audit'`)
    }
    expect(young.looks).toBe(0)
  })

  it('audit instead of a process that is stopped amid its audit, but not after a process that has finished its audit', async () => {
    await afresh()
    const one = givenProcess('one', { work: hang })
    await until(() => one.audits, 'its audit')
    const two = givenProcess('two')
    await looksOf(two)
    expect(two.audits).toBe(0)
    await one.stop()
    await until(() => two.audits, 'the other’s audit')
    await until(() => two.lines.length, 'its end')
    await two.stop()
    const three = givenProcess('three')
    await looksOf(three)
    expect(three.audits).toBe(0)
    expect(one.lines).toEqual([])
  })

  it('give up an audit that takes too long or fails, and do not repeat it before the next period', async () => {
    await afresh()
    const slow = givenProcess('slow', { work: hang, limitMs: 50 })
    expect(await until(() => slow.lines[0], 'its end')).toMatchObject({ level: WARN, err: { message: /50 ms/ } })
    await looksOf(slow)
    expect(slow.audits).toBe(1)
    await slow.stop()
    await afresh()
    const failing = givenProcess('failing', { work: () => Promise.reject(new Error('no Redis')) })
    expect(await until(() => failing.lines[0], 'its end')).toMatchObject({ level: WARN, err: { message: 'no Redis' } })
    await looksOf(failing)
    expect(failing.lines).toHaveLength(1)
  })
})
