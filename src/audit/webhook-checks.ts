/** Webhooks: what is due is sent. */
import { FAILING } from '../webhooks/retry-schedule.js'
import type { SqlCheck } from './check.js'

/** Servers look every two seconds. */
const OVERDUE = `interval '5 minutes'`
/** Unless none of them has run for so long: one that is back needs a moment. */
const SENT_WITHIN_MS = 4000

export const webhookChecks: readonly SqlCheck[] = [
  {
    // An endpoint that keeps failing is let alone on purpose, and one that is slow is busy.
    name: 'webhooks-are-sent-in-time',
    query: `
      SELECT d.event_id FROM webhook_deliveries d
        JOIN webhook_endpoints e ON e.id = d.endpoint_id JOIN users u ON u.id = e.user_id
       WHERE d.status = 'pending' AND d.next_at < now() - ${OVERDUE} AND e.not_before < now() - ${OVERDUE}
         AND greatest(e.slot_1_until, e.slot_2_until) < now() AND e.failures < ${FAILING}
         AND e.deleted_at IS NULL AND e.disabled_at IS NULL AND u.deleted_at IS NULL`,
    mendedWithinMs: SENT_WITHIN_MS,
  },
]
