import { desc, gt, sql } from 'drizzle-orm'
import type { UnsentMailStore } from '../../core/accounts/account-mails.js'
import type { Database } from '../client.js'
import { unsentMails as m } from '../schema/website.js'

export const unsentMailStore = ({ orm }: Database): UnsentMailStore => ({
  async add({ to, subject, text }) {
    await orm.insert(m).values({ recipient: to, subject, body: text })
  },

  list: () =>
    orm
      .select({ to: m.recipient, subject: m.subject, text: m.body, createdAt: m.createdAt })
      .from(m)
      .where(gt(m.createdAt, sql`now() - interval '1 day'`))
      .orderBy(desc(m.id))
      .limit(200),
})
