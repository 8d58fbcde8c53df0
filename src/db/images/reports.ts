import { MAX_OPEN_REPORTS, type ReportStore } from '../../core/images/reports.js'
import { type Database, withTransaction } from '../client.js'
import { images as i, imageReports as r } from '../schema/images.js'
import { insertInto, param, statement, typedParams } from '../statement.js'

const LOCK_IMAGE = statement('lock_reported_image')`
  SELECT FROM ${i} WHERE ${i.slug} = ${param('slug')}::text AND ${i.removedAt} IS NULL FOR NO KEY UPDATE`

const ADD = statement('add_image_report')`
  ${insertInto(r, typedParams(r, 'slug', 'reason', 'note'))}
   WHERE (SELECT count(*) FROM ${r} WHERE ${r.slug} = ${param('slug')}::text AND ${r.dismissedAt} IS NULL) < ${MAX_OPEN_REPORTS}`

export const reportStore = (db: Database): ReportStore => ({
  // The lock first, in a statement of its own: the next one then counts what others have added meanwhile.
  add: (slug, { reason, note }) =>
    withTransaction(db, async (_tx, client) => {
      if ((await LOCK_IMAGE.count(client, { slug })) === 0) return false
      await ADD.run(client, { slug, reason, note })
      return true
    }),
})
