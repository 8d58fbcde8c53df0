import { sql } from 'drizzle-orm'
import type { CancelStore } from '../generation/cancel.js'
import type { Database } from './client.js'
import { failGenerations } from './failing.js'

/** Cancellations always give the credits back, whatever REFUND_FAILED says: nobody failed. */
export const cancelStore = ({ orm }: Database): CancelStore => ({
  async cancel(id, reason, { onlyQueued }) {
    const which = onlyQueued ? sql`g.id = ${id} AND g.status = 'queued'` : sql`g.id = ${id}`
    return (await failGenerations(orm, which, sql`${reason}::text`, true))[0]
  },
})
