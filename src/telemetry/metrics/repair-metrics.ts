import type { EndedGeneration } from '../../core/generations/cancel.js'
import type { ReconcilePorts } from '../../core/generations/repair/ports.js'
import type { EndMetrics } from './end-metrics.js'
import type { Meters } from './meters.js'

const KINDS = ['requeued', 'enqueued', 'ended', 'redis_restored']

/** What the reconciler repairs. */
export function repairMetrics({ counter }: Meters, ends: EndMetrics) {
  const heals = counter('reconciler_heals_total', 'What the reconciler has repaired, by kind.', ['kind'], KINDS)
  const healed = (kind: string, times: number) => heals.inc({ kind }, times)

  return <Ports extends Pick<ReconcilePorts, 'rows' | 'wipeMark'>>(ports: Ports): Ports => {
    const { rows, wipeMark } = ports
    const ended = async (reason: string, work: Promise<EndedGeneration[]>) => {
      const all = await work
      for (const { refunded } of all) ends.failed(reason, refunded)
      healed('ended', all.length)
      return all
    }
    return {
      ...ports,
      rows: {
        ...rows,
        async requeueLost() {
          const requeued = await rows.requeueLost()
          healed('requeued', requeued.length)
          return requeued
        },
        failLost: () => ended('worker_lost', rows.failLost()),
        failExpired: () => ended('deadline', rows.failExpired()),
        failUnservable: (lacking) => ended(`no_${lacking}`, rows.failUnservable(lacking)),
        async markEnqueued(deliveries) {
          await rows.markEnqueued(deliveries)
          healed('enqueued', deliveries.length)
        },
      },
      wipeMark: {
        ...wipeMark,
        async finish() {
          // It is set again once a minute, too.
          const wasWiped = !(await wipeMark.present())
          const finished = await wipeMark.finish()
          if (finished && wasWiped) healed('redis_restored', 1)
          return finished
        },
      },
    }
  }
}
