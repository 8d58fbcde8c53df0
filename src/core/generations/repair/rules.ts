import { clearLeftovers, type EndedGeneration } from '../cancel.js'
import type { ReconcilePorts, ReconcileStore } from './ports.js'
import { restoreRedis } from './restore-redis.js'
import { sweepImages } from './sweep-images.js'

/** What a pass does: `full`: check everything, not only what is new; `trustLeases`: an expired lease means a lost worker. */
export type Pass = Readonly<Record<'full' | 'trustLeases', boolean>>

interface Rule {
  readonly name: string
  /** What is left behind, as docs/architecture.md says it. */
  readonly repairs: string
  /** Whether a pass applies it, given the rules that have failed in it; without, every pass does. */
  readonly when?: (pass: Pass, ports: ReconcilePorts, failed: ReadonlySet<string>) => boolean | Promise<boolean>
  /** @returns false if it did not do all its work */
  readonly run: (ports: ReconcilePorts) => Promise<unknown>
}

const isFull = ({ full }: Pass) => full
const trustsLeases = ({ trustLeases }: Pass) => trustLeases
const isFullOrWiped: Rule['when'] = async ({ full }, { wipeMark }) => full || !(await wipeMark.present())
/** If requeue_lost failed, Postgres may have stood still, so that no lease could be renewed. */
const isRequeued: Rule['when'] = ({ trustLeases }, _ports, failed) => trustLeases && !failed.has('requeue_lost')

/** In this order: a pass enqueues what it requeued, sets no lock of what it ended, and does last what nobody waits for. */
export const RULES: readonly Rule[] = [
  { name: 'requeue_lost', repairs: 'an attempt whose worker died', when: trustsLeases, run: requeueLost },
  { name: 'fail_lost', repairs: 'what killed five workers', when: isRequeued, run: end((rows) => rows.failLost()) },
  { name: 'enqueue', repairs: 'a row whose job never reached Redis', run: enqueueMissing },
  { name: 'fail_expired', repairs: 'a generation that is past its deadline', run: end((rows) => rows.failExpired()) },
  { name: 'fail_unservable', repairs: 'one that no live backend can do', run: end((rows) => rows.failUnservable()) },
  {
    name: 'settle_periods',
    repairs: 'a period of a plan that has begun or ended',
    run: ({ periods }) => periods.settle(),
  },
  { name: 'note_ended', repairs: 'a subscription whose end has passed', run: ({ periods }) => periods.noteEnded() },
  { name: 'restore', repairs: 'an empty Redis; locks of what has ended', when: isFullOrWiped, run: restoreRedis },
  { name: 'sweep', repairs: 'image files of failed generations', when: isFull, run: sweepImages },
  { name: 'clean', repairs: 'rows that have expired', when: isFull, run: ({ rows }) => rows.clean() },
]

/** A generation keeps its place in the queue. */
async function requeueLost({ rows, log }: ReconcilePorts): Promise<void> {
  const requeued = await rows.requeueLost()
  if (requeued.length === 0) return
  log.warn({ generations: requeued.map(({ id }) => id) }, 'generations of lost workers requeued')
}

/** Stops at the first page that Redis refuses. */
async function enqueueMissing({ rows, queue }: ReconcilePorts): Promise<void> {
  for (;;) {
    const missing = await rows.notEnqueued()
    if (missing.length === 0 || !(await queue.enqueue(missing))) return
    await rows.markEnqueued(missing)
  }
}

/** Fails generations that can no longer succeed, and releases what they hold outside Postgres. */
function end(fail: (rows: ReconcileStore) => Promise<EndedGeneration[]>): Rule['run'] {
  return async (ports) => {
    for (const generation of await fail(ports.rows)) {
      const { id: generationId, requestId, reason } = generation
      ports.log.warn({ generationId, requestId, reason }, 'generation ended by the reconciler')
      await clearLeftovers(ports, generation)
    }
  }
}
