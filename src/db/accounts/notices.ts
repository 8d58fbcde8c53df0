import { and, eq, isNull, sql } from 'drizzle-orm'
import type { DueNotice, MailChoices, NoticeStore } from '../../core/accounts/notices.js'
import type { Database } from '../client.js'
import { notices as n, subscriptions as s, users as u } from '../schema/accounts.js'
import { columns, selectAs, setList, statement } from '../statement.js'

const SUBSCRIPTIONS_PER_PASS = 1000

/** The passing of an end; all other changes are noticed by the triggers of migrations/0051_notices.sql. */
export const NOTE_ENDED = statement('note_ended_subscriptions')`
  WITH ended AS (
    UPDATE ${s} SET ${setList(s, { noticeAt: null })} WHERE ${s.noticeAt} <= now() AND ${s.userId} = ANY (ARRAY(
      SELECT ${s.userId} FROM ${s} WHERE ${s.noticeAt} <= now() ORDER BY ${s.noticeAt} LIMIT ${SUBSCRIPTIONS_PER_PASS}
         FOR NO KEY UPDATE SKIP LOCKED))
    RETURNING ${s.userId}, ${s.status}, ${s.plan}, ${s.endDate}
  )
  INSERT INTO ${n} (user_id, kind, data)
  SELECT ended.user_id, 'subscription.changed', subscription_data(ended.status, ended.plan, ended.end_date)
    FROM ended JOIN ${u} ON ${u.id} = ended.user_id AND ${u.deletedAt} IS NULL ORDER BY ended.user_id`

const CLAIM = statement<DueNotice>('claim_notice')`
  WITH due AS (
    UPDATE ${n} SET ${setList(n, {
      tries: sql`${n.tries} + 1`,
      mailAt: sql`now() + interval '1 minute' * 2 ^ least(${n.tries}, 8)`,
    })}
     WHERE ${n.id} = (
       SELECT ${n.id} FROM ${n} WHERE ${n.mailAt} <= now() AND ${n.createdAt} > now() - interval '1 day'
        ORDER BY ${n.mailAt} LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED)
    RETURNING ${n.id}, ${n.userId}, ${n.kind}, ${n.data}
  )
  SELECT due.id, due.kind, due.data, ${selectAs({
    ...columns(u, 'username', 'language', 'mailsOff'),
    email: sql`CASE WHEN ${u.deletedAt} IS NULL THEN ${u.email} END`,
  })}
    FROM due JOIN ${u} ON ${u.id} = due.user_id`

const NOTICES_PER_PAGE = 1000
const FORGET = statement('forget_notices')`
  DELETE FROM ${n} WHERE ${n.id} = ANY (ARRAY(
    SELECT ${n.id} FROM ${n} WHERE ${n.createdAt} < now() - interval '30 days' ORDER BY ${n.createdAt} LIMIT ${NOTICES_PER_PAGE}))`

export const noticeStore = ({ orm, pool }: Database): NoticeStore => ({
  claim: () => CLAIM.first(pool),
  async done(id) {
    await orm.update(n).set({ mailAt: null }).where(eq(n.id, id))
  },
  async forgetOld() {
    while ((await FORGET.count(pool)) === NOTICES_PER_PAGE);
  },
})

export const mailChoices = ({ orm }: Database): MailChoices => ({
  async off(accountId) {
    const [row] = await orm.select(columns(u, 'mailsOff')).from(u).where(eq(u.id, accountId))
    return row?.mailsOff ?? []
  },
  async turnOff(accountId, mails) {
    const own = and(eq(u.id, accountId), isNull(u.deletedAt))
    await orm
      .update(u)
      .set({ mailsOff: [...mails] })
      .where(own)
  },
})
