/** The ports of Easel's processes with the failpoints of failpoint.ts around their calls, and without switched-off guards. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { EndedGeneration } from '../../../src/core/generations/cancel.js'
import type { GenerationWatch } from '../../../src/core/generations/follow/follow.js'
import type { PortWrappers, ProcessOptions } from '../../../src/process/foundation.js'
import { armed, type Failpoint, type SwitchableGuard, switchedOff, type Variables } from './failpoint.js'

type Call<Given extends unknown[], Result> = (...given: Given) => Promise<Result>

/** Longer than any run. */
const NEVER_EXPIRES_MS = 86_400_000

/** For startServer and startWorker: what FAILPOINTS and GUARDS_OFF ask for. */
export function chaosOptions(env: Variables) {
  const isOff = switchedOff(env)
  return {
    wrappers: chaosPorts(env),
    submitTtlMs: isOff('lock.expiry') ? NEVER_EXPIRES_MS : undefined,
  } satisfies ProcessOptions
}

/** Most places are between two calls of ports; the comments tell where a place lies otherwise. */
export function chaosPorts(env: Variables): PortWrappers {
  const at = armed(env)
  const isOff = switchedOff(env)

  const before =
    <Given extends unknown[], Result>(place: Failpoint, call: Call<Given, Result>): Call<Given, Result> =>
    async (...given) => {
      await at(place)
      return call(...given)
    }
  /** @param counts whether the call has done what the place is after */
  const after =
    <Given extends unknown[], Result>(
      place: Failpoint,
      call: Call<Given, Result>,
      counts: (result: Result) => unknown = () => true,
    ): Call<Given, Result> =>
    async (...given) => {
      const result = await call(...given)
      if (counts(result)) await at(place)
      return result
    }
  /** The call, or with the guard off one that does nothing and answers as if there were nothing to do. */
  const guarded = <Work>(guard: SwitchableGuard, call: Work, nothing: Work): Work => (isOff(guard) ? nothing : call)

  /** A subscription cannot wait for a pause, so after one it is made late. */
  const watchAfter =
    (place: Failpoint, watch: GenerationWatch['watch']): GenerationWatch['watch'] =>
    (...given) => {
      let isOver = false
      let unwatch: (() => void) | undefined
      const begin = () => {
        if (!isOver) unwatch = watch(...given)
      }
      void Promise.resolve(at(place)).then(begin, begin)
      return () => {
        isOver = true
        unwatch?.()
      }
    }

  /** A put asks with a heartbeat whether the attempt is still its own: that one comes with each image. */
  const amidPut = new AsyncLocalStorage<true>()

  /** The port ends a page of generations at once; `queue.withdraw` is where the page is half cleared up. */
  const ended = <Given extends unknown[]>(guard: SwitchableGuard, call: Call<Given, EndedGeneration[]>) =>
    guarded<typeof call>(guard, after('reconcile.after_fail', call, isAny), none)

  return {
    submits: (ports) => ({
      ...ports,
      idempotency: {
        ...ports.idempotency,
        reserve: after('idempotency.after_reserve', ports.idempotency.reserve, ({ outcome }) => outcome === 'reserved'),
        release: before('idempotency.before_release', ports.idempotency.release),
      },
      // A developer's submit takes no lock: for it `submit.before_insert` is the same place.
      lock: {
        ...ports.lock,
        acquire: after('submit.after_lock', ports.lock.acquire, ({ acquired }) => acquired),
        replace: guarded(
          'lock.verify',
          after('submit.after_lock', ports.lock.replace, (replaced) => replaced),
          async () => false,
        ),
      },
      submissions: {
        ...ports.submissions,
        insert: before(
          'submit.before_insert',
          after('submit.after_insert', ports.submissions.insert, ({ outcome }) => outcome === 'inserted'),
        ),
        // The lock is extended by then, too.
        markEnqueued: before('submit.after_enqueue', ports.submissions.markEnqueued),
      },
      watch: { ...ports.watch, watch: watchAfter('create_image.before_wait', ports.watch.watch) },
      cancels: {
        ...ports.cancels,
        cancel: after(
          'cancel.after_end',
          async (id, reason, options) => {
            if (options.onlyQueued) await at('create_image.before_cancel')
            return ports.cancels.cancel(id, reason, options)
          },
          (canceled) => canceled,
        ),
      },
    }),

    runs: (ports) => ({
      ...ports,
      runs: {
        ...ports.runs,
        heartbeat: (...given) => {
          const { heartbeat } = ports.runs
          return (amidPut.getStore() ? heartbeat : before('lease.before_heartbeat', heartbeat))(...given)
        },
        succeed: before('run.before_succeed', after('run.after_succeed', ports.runs.succeed)),
        fail: before('run.before_fail', after('run.after_fail', ports.runs.fail, Boolean)),
        requeue: before('run.before_requeue', after('run.after_requeue', ports.runs.requeue)),
      },
      images: {
        ...ports.images,
        put: before(
          'run.before_put',
          after('run.after_put', (...given) => amidPut.run(true, () => ports.images.put(...given))),
        ),
      },
      // For a developer's generation, which has none, `run.after_succeed` and `run.after_fail` are the same place.
      lock: { ...ports.lock, release: after('run.after_release', ports.lock.release) },
    }),

    // Not right after the claim: here the lease is renewed during a pause, and the GPU server has got nothing yet.
    backend: (backend) => ({
      ...backend,
      generate: before('run.after_claim', after('run.after_infer', backend.generate)),
    }),

    repairs(ports) {
      const { rows, periods, lock, queue, wipeMark } = ports
      const requeueLost = after('reconcile.after_requeue_lost', rows.requeueLost, isAny)
      return {
        ...ports,
        rows: {
          ...rows,
          requeueLost: guarded('reconcile.requeue_lost', requeueLost, none),
          failLost: ended('reconcile.fail_lost', rows.failLost),
          failExpired: ended('reconcile.fail_expired', rows.failExpired),
          failUnservable: ended('reconcile.fail_unservable', rows.failUnservable),
          notEnqueued: guarded('reconcile.enqueue', rows.notEnqueued, none),
          markEnqueued: before('reconcile.after_enqueue', after('reconcile.after_mark', rows.markEnqueued)),
          activePage: guarded('reconcile.restore_locks', rows.activePage, none),
          wastedSlugs: guarded('reconcile.sweep', rows.wastedSlugs, none),
          clean: guarded('reconcile.clean', rows.clean, async () => undefined),
        },
        periods: {
          settle: guarded('reconcile.settle_periods', periods.settle, async () => 0),
          noteEnded: guarded('reconcile.note_ended', periods.noteEnded, async () => undefined),
        },
        lock: { ...lock, all: guarded('reconcile.clear_locks', lock.all, async function* () {}) },
        queue: { ...queue, withdraw: before('reconcile.after_fail', queue.withdraw) },
        wipeMark: {
          ...wipeMark,
          present: guarded('reconcile.notice_wipe', wipeMark.present, async () => true),
          begin: before('reconcile.before_locks', wipeMark.begin),
          finish: before('reconcile.before_mark', wipeMark.finish),
        },
      }
    },
  }
}

const none = async () => []
const isAny = (found: readonly unknown[]) => found.length > 0
