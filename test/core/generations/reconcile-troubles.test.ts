/** The reconciler beside what is slow, locked, broken or not back yet. */
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { cancelGeneration } from '../../../src/core/generations/cancel.js'
import { DEADLINE_PASSED } from '../../../src/core/generations/failure-reason.js'
import { SAMPLERS } from '../../../src/core/generations/generation.js'
import type { Delivery } from '../../../src/core/generations/ports.js'
import { type ReconcilerPorts, reconcile, startReconciler } from '../../../src/core/generations/repair/reconcile.js'
import type { Pausable } from '../../../src/core/operator/pauses.js'
import { periodStore } from '../../../src/db/accounts/subscription-periods.js'
import { backendRegistry } from '../../../src/db/generations/backends.js'
import { cancelStore } from '../../../src/db/generations/end.js'
import { leaderLease } from '../../../src/db/generations/leader-lease.js'
import { type ReconcileStoreOptions, reconcileStore } from '../../../src/db/generations/reconcile.js'
import { pauseStore } from '../../../src/db/operator/pauses.js'
import { noActiveGenerationLock } from '../../../src/redis/active-generation-lock.js'
import { useDatabase } from '../../support/database.js'
import { fakeQueue, fakeWipeMark, noImages, noLog } from '../../support/fake-ports.js'
import { chargesOf, givenGeneration, givenUser, givenWaiting, MODEL, rowOf } from '../../support/givens.js'
import { unguarded } from '../../support/unguarded.js'
import { until, within } from '../../support/until.js'

const context = useDatabase()
const query = (text: string, values?: unknown[]) => context.db.pool.query(text, values)
/** As if it had happened so long ago; no trigger would let anybody change that. */
const age = async (table: string, columns: readonly string[], seconds: number) => {
  const earlier = columns.map((column) => `${column} = ${column} - interval '${seconds} seconds'`)
  await unguarded(context.db, `UPDATE ${table} SET ${earlier}`)
}
const end = (ids: readonly string[]) => query(`UPDATE generations SET deadline_at = now() WHERE id = ANY ($1)`, [ids])

let queue = fakeQueue()
beforeEach(async () => {
  queue = fakeQueue()
  await query(
    `UPDATE generations SET status = 'failed', error = 'over', finished_at = now() WHERE status IN ('queued', 'processing')`,
  )
  await query('DELETE FROM backends')
})

const store = (options: Partial<ReconcileStoreOptions> = {}) =>
  reconcileStore(context.db, { refundFailed: true, ...options })
const portsWith = (more: Partial<ReconcilerPorts>): ReconcilerPorts => ({
  rows: store(),
  periods: periodStore(context.db),
  queue,
  lock: noActiveGenerationLock,
  images: noImages,
  wipeMark: fakeWipeMark(),
  leaderLease: leaderLease(context.db, 'problems', 'me'),
  log: noLog,
  ...more,
})
const pass = (full = false, more: Partial<ReconcilerPorts> = {}) =>
  reconcile(portsWith(more), { full, trustLeases: true })
const statusOf = async (generation: { id: string }) => (await rowOf(context.db, generation)).status

describe('a generation that one backend of two can serve', () => {
  const announce = (name: string, serves: { models?: string[]; samplers?: string[]; maxSeed?: number }) =>
    backendRegistry(context.db).announce('w', name, true, {
      ...{ models: null, samplers: [...SAMPLERS], maxSeed: 4294967295, sizeMultiple: 8 },
      ...serves,
    })

  it.each<[string, Parameters<typeof announce>[1]]>([
    ['model', { models: ['another.safetensors'] }],
    ['sampler', { samplers: ['heun'] }],
    ['seed', { maxSeed: 1 }],
  ])('is not given up when only the other one is back after an outage (%s)', async (_lacking, unable) => {
    const user = await givenUser(context.db)
    await announce('able', {})
    await announce('unable', unable)
    const generation = await givenGeneration(context.db, user)
    await age('backends', ['seen_at', 'changed_at'], 90)
    await age('generations', ['created_at'], 90)
    await announce('unable', unable)
    await pass()
    expect(await statusOf(generation)).toBe('queued')
    // It has been back for a minute, and the able one has not.
    await age('backends', ['changed_at'], 61)
    await pass()
    expect(await statusOf(generation)).toBe('failed')
    expect(await chargesOf(context.db, user)).toEqual([
      ['charge', -1],
      ['refund', 1],
    ])
  })
})

describe('a generation that no backend can serve', () => {
  const serves = { models: ['another.safetensors'], samplers: [...SAMPLERS], maxSeed: 4294967295, sizeMultiple: 8 }
  const announce = (name: string, models: string[]) =>
    backendRegistry(context.db).announce('w', name, true, { ...serves, models })
  const by = { actor: 'test', reason: 'because' }

  it.each<Pausable>([
    { scope: 'all', target: '' },
    { scope: 'model', target: MODEL.filename },
    { scope: 'backend', target: 'able' },
  ])('is not given up while $scope is paused', async (what) => {
    const pauses = pauseStore(context.db)
    const user = await givenUser(context.db)
    await query('DELETE FROM backends')
    await announce('able', [MODEL.filename])
    const generation = await givenGeneration(context.db, user)
    await pauses.pause(what, by)
    await age('backends', ['seen_at', 'changed_at'], 3600)
    await store().clean()
    await announce('unable', serves.models)
    await age('backends', ['changed_at'], 90)
    await age('generations', ['created_at'], 90)
    await pass()
    expect(await statusOf(generation)).toBe('queued')
    await pauses.resume(what, by)
    await pass()
    expect(await statusOf(generation)).toBe('failed')
  })
})

describe('the generations that the reconciler ends', () => {
  it('are logged with the reason, and the request that they came from', async () => {
    const generation = await givenGeneration(context.db, await givenUser(context.db), { requestId: 'req-1' })
    await end([generation.id])
    const warned: object[] = []
    const warn = (facts: object) => void warned.push(facts)
    await pass(false, { log: { ...noLog, warn } })
    expect(warned).toEqual([{ generationId: generation.id, requestId: 'req-1', reason: DEADLINE_PASSED }])
  })

  it('are ended in pages, however many there are', async () => {
    const developer = await givenUser(context.db, { developer: { concurrency: 1000 } })
    const { personal } = await givenWaiting(context.db, developer, { personal: 450, create_image: 0 })
    await end(personal)
    await pass()
    const { rows } = await query(`SELECT count(*) AS n FROM generations WHERE status = 'failed' AND id = ANY ($1)`, [
      personal,
    ])
    expect(rows[0].n).toBe(450)
  })

  it.each(['users', 'generations'])('are ended without waiting for one whose row in %s is locked', async (table) => {
    const [held, free] = [await givenUser(context.db), await givenUser(context.db)]
    const [first, second] = [await givenGeneration(context.db, held), await givenGeneration(context.db, free)]
    await end([first.id, second.id])
    const other = await context.db.pool.connect()
    try {
      await other.query('BEGIN')
      await other.query(`SELECT FROM ${table} WHERE id::text = ANY ($1) FOR UPDATE`, [[held.id, first.id]])
      await pass()
      expect([await statusOf(first), await statusOf(second)]).toEqual(['queued', 'failed'])
    } finally {
      await other.query('ROLLBACK')
      other.release()
    }
    await pass()
    expect(await statusOf(first)).toBe('failed')
  })

  it('are ended although one of them cannot be, which is logged once in a while', async () => {
    const [rich, other] = [await givenUser(context.db), await givenUser(context.db)]
    const [first, second] = [await givenGeneration(context.db, rich), await givenGeneration(context.db, other)]
    await end([first.id, second.id])
    await query('UPDATE users SET credits = 9007199254740991 WHERE id = $1', [rich.id])
    const told: string[] = []
    const rows = store({ onStuck: (_error, id) => told.push(id) })
    await pass(false, { rows })
    await pass(false, { rows })
    expect([await statusOf(first), await statusOf(second)]).toEqual(['queued', 'failed'])
    expect(told).toEqual([first.id])
  })
})

describe('a rule of the reconciler that fails', () => {
  it('keeps no other rule from its work', async () => {
    const generation = await givenGeneration(context.db, await givenUser(context.db))
    await age('generations', ['created_at'], 5)
    const failing = async () => {
      throw new Error('canceling statement due to statement timeout')
    }
    const rows = { ...store(), requeueLost: failing, failExpired: failing, wastedSlugs: failing }
    let cleaned = false
    const clean = async () => {
      cleaned = true
    }
    await pass(true, { rows: { ...rows, clean } })
    expect(queue.rung).toContainEqual({ id: generation.id, attempt: 1 })
    expect(cleaned).toBe(true)
  })
})

describe('an image store that hangs', () => {
  const images = { remove: () => new Promise<never>(() => undefined) }
  const givenStarted = async () => {
    const generation = await givenGeneration(context.db, await givenUser(context.db))
    await query('UPDATE generations SET started_at = now() WHERE id = $1', [generation.id])
    return generation
  }

  it('delays neither a pass of the reconciler nor its end', async () => {
    const reconciler = startReconciler(portsWith({ images }))
    for (let i = 0; i < 2; i++) {
      const generation = await givenStarted()
      await end([generation.id])
      await until(async () => (await statusOf(generation)) === 'failed', 'the end of the generation')
    }
    await reconciler.stop()
  })

  it('does not keep a cancellation waiting', async () => {
    const { id } = await givenStarted()
    const ports = { ...portsWith({ images }), cancels: cancelStore(context.db) }
    expect(await cancelGeneration(ports, id, 'Canceled.', { onlyQueued: false })).toBe(true)
  })
})

describe('a long pass of the reconciler', () => {
  it('stays the leader by renewing its lease', async () => {
    const generation = await givenGeneration(context.db, await givenUser(context.db))
    await query('DELETE FROM unenqueued WHERE generation_id = $1', [generation.id])
    let release: (reached: boolean) => void = () => undefined
    const ring = () => new Promise<boolean>((resolve) => (release = resolve))
    const reconciler = startReconciler(portsWith({ queue: { ...queue, enqueue: ring } }))
    const heldUntil = async () => {
      const { rows } = await query(`SELECT until FROM leases WHERE name = 'problems' AND holder = 'me'`)
      return rows[0]?.until.getTime()
    }
    const first = await until(heldUntil, 'the lease')
    await until(async () => (await heldUntil()) > first, 'its renewal')
    release(true)
    await reconciler.stop()
  })
})

describe('a reconciler that has stood still', () => {
  it('takes no worker for lost at once, since the workers may have stood still, too, but does so later', async () => {
    const now = performance.now.bind(performance)
    let aheadMs = 0
    vi.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs)
    onTestFinished(() => void vi.restoreAllMocks())
    const looks: string[] = []
    const rows = {
      ...store(),
      requeueLost: async () => {
        looks.push('for lost workers')
        return []
      },
      notEnqueued: async () => {
        looks.push('for missing jobs')
        // After its first pass it stands still for long; then time only passes somewhat faster.
        aheadMs += looks.length === 2 ? 10_000 : 2000
        return []
      },
    }
    const leaderLease = { hold: async () => true, release: async () => undefined }
    const reconciler = startReconciler(portsWith({ rows, leaderLease }))
    try {
      await until(() => looks.slice(1).includes('for lost workers'), 'another look for lost workers')
      expect(looks.slice(0, 3)).toEqual(['for lost workers', 'for missing jobs', 'for missing jobs'])
    } finally {
      await reconciler.stop()
    }
  })
})

describe('a full pass of the reconciler', () => {
  it('comes once a minute, and 5 s after one that could not restore Redis', async () => {
    let now = 0
    vi.spyOn(performance, 'now').mockImplementation(() => now)
    onTestFinished(() => void vi.restoreAllMocks())
    const laterPasses = [4999, 5000, 64_999, 65_000]
    const full: number[] = []
    let passAt = 0
    let end: () => void = () => undefined
    const last = new Promise<void>((resolve) => (end = resolve))
    const rows = {
      ...store(),
      // In each pass, which has looked at the clock by then.
      notEnqueued: async () => {
        passAt = now
        const next = laterPasses.shift()
        if (next === undefined) end()
        else now = next
        return []
      },
      wastedSlugs: async () => {
        full.push(passAt)
        return []
      },
    }
    const wipeMark = { ...fakeWipeMark(), finish: async () => passAt > 0 }
    const leaderLease = { hold: async () => true, release: async () => undefined }
    const reconciler = startReconciler(portsWith({ rows, wipeMark, leaderLease }))
    await within(60_000, last, 'the last pass').finally(() => reconciler.stop())
    expect(full).toEqual([0, 5000, 65_000])
  })
})

describe('a long queue that Redis has lost', () => {
  const givenQueued = async (count: number) => {
    const developer = await givenUser(context.db, { developer: { concurrency: 1 } })
    const { personal } = await givenWaiting(context.db, developer, { personal: count, create_image: 0 })
    return personal
  }
  /** Fails the first time that it rings. */
  const failingOnce = () => {
    let calls = 0
    return { ...queue, enqueue: async (page: readonly Delivery[]) => ++calls > 1 && queue.enqueue(page) }
  }
  const idsOf = (deliveries: readonly Delivery[]) => deliveries.map(({ id }) => id)

  it('gets as many jobs as backends may be idle, which work it all off, however long it is', async () => {
    const queued = await givenQueued(1500)
    await pass(true)
    expect(idsOf(queue.rung)).toEqual(queued.slice(0, 1000))
  })

  it('gets its jobs from a later pass if enqueueing them has failed', async () => {
    const queued = await givenQueued(3)
    const wipeMark = fakeWipeMark(false)
    const failing = failingOnce()
    for (const restored of [false, true, true]) {
      expect(await pass(false, { wipeMark, queue: failing })).toBe(restored)
      expect(wipeMark.isSet).toBe(restored)
    }
    expect(idsOf(queue.rung)).toEqual(queued)
  })
})

describe('locks that cannot be read', () => {
  /** Fails the nth time that it is read. */
  const unreadable = (nth: number) => {
    const reads = { count: 0 }
    const all = async function* () {
      if (++reads.count === nth) throw new Error('Command timed out')
      yield []
    }
    return { reads, lock: { ...noActiveGenerationLock, all } }
  }

  it('make a full pass say that Redis is not restored', async () => {
    const { lock } = unreadable(1)
    expect([await pass(true, { lock }), await pass(true, { lock })]).toEqual([false, true])
  })

  it('are read again soon, also if the pass that could not read them was not a full one', async () => {
    const { lock, reads } = unreadable(2)
    const wipeMark = fakeWipeMark(false)
    const reconciler = startReconciler(portsWith({ lock, wipeMark }))
    try {
      await until(() => wipeMark.isSet, 'the first full pass')
      wipeMark.isSet = false
      await until(() => wipeMark.isSet, 'another restore')
      expect(reads.count).toBe(3)
    } finally {
      await reconciler.stop()
    }
  })
})

describe('idempotency keys that are older than a day', () => {
  it('are deleted, however many there are and even while Redis is away', async () => {
    const [{ id }, generation] = [
      await givenUser(context.db),
      await givenGeneration(context.db, await givenUser(context.db)),
    ]
    await query('DELETE FROM unenqueued WHERE generation_id = $1', [generation.id])
    await query(
      `INSERT INTO idempotency_keys (user_id, key, body_hash, generation_id, created_at)
       SELECT $1, 'k' || n, '', 'gen_gone', now() - CASE WHEN n > 3 THEN interval '25 hours' ELSE interval '23 hours' END
         FROM generate_series(1, 2500) n`,
      [id],
    )
    await pass(true, { queue: { ...queue, enqueue: async () => false } })
    const { rows } = await query('SELECT key FROM idempotency_keys ORDER BY key')
    expect(rows.map(({ key }) => key)).toEqual(['k1', 'k2', 'k3'])
  })
})
