import { and, eq, isNull, ne, sql } from 'drizzle-orm'
import type { OwnKey, OwnKeyStore } from '../../core/accounts/api-key.js'
import { type Database, withTransaction } from '../client.js'
import { apiKeys as k, subscriptions as s, users as u } from '../schema/generations.js'
import { columns, insertInto, param, selectAs, statement, typedParams } from '../statement.js'
import { STATUS_NOW } from './accounts.js'
import { RECENTLY_SPENT } from './spending.js'

const ACCOUNT = sql`${param('accountId')}::uuid`

// The user's row is the lock: two requests count one after the other. No row: the account was deleted.
const LOCK_SUBSCRIBER = statement<{ status: string | null }>('lock_subscriber_for_keys')`
  SELECT ${STATUS_NOW} AS status FROM ${u} LEFT JOIN ${s} ON ${s.userId} = ${u.id}
   WHERE ${u.id} = ${ACCOUNT} AND ${u.deletedAt} IS NULL FOR NO KEY UPDATE OF ${u}`

const COUNT = statement<{ keys: number }>('count_own_keys')`
  SELECT count(*) AS keys FROM ${k} WHERE ${k.userId} = ${ACCOUNT} AND ${k.kind} = 'personal' AND ${k.revokedAt} IS NULL`

const CREATE = statement('create_own_key')`
  ${insertInto(k, { userId: ACCOUNT, kind: 'personal', ...typedParams(k, 'name', 'hash', 'hint') })}`

const LIST = statement<OwnKey>('list_own_keys')`
  SELECT ${selectAs(columns(k, 'id', 'kind', 'name', 'hint', 'createdAt', 'lastUsedAt'))}, coalesce(by_key.spent, 0) AS spent
    FROM ${k} LEFT JOIN (
      SELECT api_key_id, sum(spent)::bigint AS spent FROM (${RECENTLY_SPENT}) recent GROUP BY api_key_id
    ) by_key ON by_key.api_key_id = ${k.id}
   WHERE ${k.userId} = ${ACCOUNT} AND ${k.kind} <> 'website' AND ${k.revokedAt} IS NULL
   ORDER BY ${k.kind} DESC, ${k.createdAt} DESC, ${k.id}`

export const ownKeyStore = (db: Database): OwnKeyStore => {
  const { orm, pool } = db
  return {
    list: (accountId) => LIST.rows(pool, { accountId }),

    create: (accountId, key, limit) =>
      withTransaction(db, async (_tx, client) => {
        const subscriber = await LOCK_SUBSCRIBER.first(client, { accountId })
        if (subscriber?.status !== 'active') return 'no_subscription'
        const held = await COUNT.first(client, { accountId })
        if (!held || held.keys >= limit) return 'too_many'
        await CREATE.run(client, { accountId, ...key })
        return 'created'
      }),

    async rename(accountId, id, name) {
      const own = and(eq(k.id, id), eq(k.userId, accountId), eq(k.kind, 'personal'), isNull(k.revokedAt))
      return (await orm.update(k).set({ name }).where(own)).rowCount === 1
    },

    async revoke(accountId, id) {
      const own = and(eq(k.id, id), eq(k.userId, accountId), ne(k.kind, 'website'))
      return (
        (
          await orm
            .update(k)
            .set({ revokedAt: sql`coalesce(${k.revokedAt}, now())` })
            .where(own)
        ).rowCount === 1
      )
    },
  }
}
