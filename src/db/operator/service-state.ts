/** What is measured of the whole service, in few and short reads. */
import { sql } from 'drizzle-orm'
import type { ServiceState } from '../../core/operator/overview.js'
import type { Database } from '../client.js'
import { ALIVE } from '../generations/backends.js'
import { RECONCILED_AT } from '../generations/leader-lease.js'
import { paymentObjects as o } from '../schema/billing.js'
import { generations as g } from '../schema/generations.js'
import { allImages as i, imageReports as r } from '../schema/images.js'
import { lastAudit as a } from '../schema/operator.js'
import { webhookDeliveries as d } from '../schema/webhooks.js'
import { backends as b } from '../schema/workers.js'
import { columns, selectAs, statement } from '../statement.js'
import { IS_UNMATCHED } from './payments.js'

/** The most that are counted of each lane, and of webhooks. */
const COUNTED = 100_000

const waitingIn = (lane: string) => sql`(SELECT ${g.filename}, ${g.createdAt} FROM ${g}
  WHERE ${g.status} = 'queued' AND ${g.lane} = ${lane} ORDER BY ${g.seq} LIMIT ${COUNTED})`

const QUEUE = statement<ServiceState['queue'][number]>('measure_queue')`
  SELECT filename AS model, count(*) AS count, extract(epoch FROM now() - min(created_at))::float8 AS "oldestSeconds"
    FROM (${waitingIn('create_image')} UNION ALL ${waitingIn('personal')}) waiting GROUP BY filename`

type Others = Pick<ServiceState, 'running' | 'reconciledAt' | 'unmatchedPayments'> & ServiceState['webhooks']

const OTHERS = statement<Others>('measure_others')`
  SELECT (SELECT count(*) FROM ${g} WHERE ${g.status} = 'processing') AS running, ${RECONCILED_AT} AS "reconciledAt",
         (SELECT count(*) FROM ${o} WHERE ${IS_UNMATCHED}) AS "unmatchedPayments",
         count(*) AS count, coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8 AS "oldestSeconds"
    FROM (SELECT ${d.createdAt} FROM ${d} WHERE ${d.status} = 'pending' ORDER BY ${d.createdAt} LIMIT ${COUNTED}) waiting`

const REPORTED = statement<ServiceState['reported']>('measure_reports')`
  SELECT count(*) AS count, coalesce(extract(epoch FROM now() - min(reported.at)), 0)::float8 AS "oldestSeconds"
    FROM (SELECT ${r.slug}, min(${r.at}) AS at FROM ${r} WHERE ${r.dismissedAt} IS NULL GROUP BY ${r.slug} LIMIT ${COUNTED}) reported
   WHERE (SELECT ${i.removedAt} IS NULL FROM ${i} WHERE ${i.slug} = reported.slug)`

// A backend that has moved to another worker has two rows for a while.
const BACKENDS = statement<ServiceState['backends'][number]>('measure_backends')`
  SELECT ${b.name}, bool_or(${b.up} AND ${b.seenAt} > now() - ${ALIVE}) AS up FROM ${b} GROUP BY ${b.name}`

const AUDIT = statement<NonNullable<ServiceState['audit']>>('measure_audit')`
  SELECT ${selectAs(columns(a, 'finishedAt', 'checks'))} FROM ${a}`

/** One after the other, so that they take one connection. */
export async function serviceState({ pool }: Database): Promise<ServiceState> {
  const [queue, others] = [await QUEUE.rows(pool), await OTHERS.first(pool)]
  const [backends, audit] = [await BACKENDS.rows(pool), await AUDIT.first(pool)]
  const { count: reportedImages = 0, oldestSeconds: oldestReport = 0 } = (await REPORTED.first(pool)) ?? {}
  const { running = 0, unmatchedPayments = 0, reconciledAt, count = 0, oldestSeconds = 0 } = others ?? {}
  return {
    ...{ queue, running, backends, webhooks: { count, oldestSeconds }, unmatchedPayments, reconciledAt, audit },
    reported: { count: reportedImages, oldestSeconds: oldestReport },
  }
}
