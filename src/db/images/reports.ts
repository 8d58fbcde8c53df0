import { sql } from 'drizzle-orm'
import { MAX_OPEN_REPORTS, type ReportStore } from '../../core/images/reports.js'
import { orBroughtBack } from '../brought-back.js'
import { type Database, withTransaction } from '../client.js'
import { allImages as i, imageReports as r } from '../schema/images.js'
import { insertInto, param, setList, statement, typedParams } from '../statement.js'

const LOCK_IMAGE = statement('lock_reported_image')`
  SELECT FROM ${i} WHERE ${i.slug} = ${param('slug')}::text AND ${i.removedAt} IS NULL FOR NO KEY UPDATE`

const OPEN = sql`${r.slug} = ${param('slug')}::text AND ${r.dismissedAt} IS NULL`
const OF_REASON = sql`${OPEN} AND ${r.reason} = ${param('reason')}::text`

const ADD = statement('add_image_report')`
  ${insertInto(r, typedParams(r, 'slug', 'reason', 'note'))}
   WHERE (SELECT count(*) FROM ${r} WHERE ${OPEN}) < ${MAX_OPEN_REPORTS} OR NOT EXISTS (SELECT FROM ${r} WHERE ${OF_REASON})`

const COUNT = statement('count_image_report')`
  UPDATE ${r} SET ${setList(r, { times: sql`${r.times} + 1` })}
   WHERE ${r.id} = (SELECT max(${r.id}) FROM ${r} WHERE ${OF_REASON}) AND ${r.dismissedAt} IS NULL`

export const reportStore = (db: Database): ReportStore => ({
  async add(slug, { reason, note }) {
    // The lock first, in a statement of its own: the next one then counts what others have added meanwhile.
    const add = () =>
      withTransaction(db, async (_tx, client) => {
        if ((await LOCK_IMAGE.count(client, { slug })) === 0) return undefined
        for (;;) {
          if ((await ADD.count(client, { slug, reason, note })) > 0) return true
          if ((await COUNT.count(client, { slug, reason })) > 0) return true
          // An operator has dismissed those that it would have been counted with: there is room again.
        }
      })
    return (await orBroughtBack(db, slug, add)) ?? false
  },
})
