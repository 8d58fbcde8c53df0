import { sql } from 'drizzle-orm'
import type { AuditDatabase } from './audit-database.js'
import type { Job, Jobs } from './job-check.js'

const PAGE = 1000

/** One-machine mode: BullMQ's own schema, with its queue's name from queue/generation-job.ts. */
const nextPage = (after: string) => sql`
  SELECT id, CASE WHEN state = 'waiting' THEN 'waiting'
                  WHEN state <> 'active' THEN 'kept'
                  WHEN locked_until_ms < extract(epoch FROM now()) * 1000 THEN 'waiting'
                  ELSE 'heard' END AS place
    FROM bullmq.job WHERE queue = 'generations' AND id > ${after} ORDER BY id LIMIT ${PAGE}`

export const postgresJobs = (db: AuditDatabase): Jobs =>
  async function* () {
    for (let after = ''; ; ) {
      const page = await db.rows<{ id: string; place: Job['place'] }>(nextPage(after))
      const last = page.at(-1)
      if (!last) return
      after = last.id
      yield page
    }
  }
