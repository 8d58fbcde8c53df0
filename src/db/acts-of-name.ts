import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { ABOUT_ACCOUNTS } from '../core/operator/acts-about-accounts.js'
import { users as u } from './schema/accounts.js'
import { operatorActions as a } from './schema/operator.js'
import { commaList } from './statement.js'

/** Whether the target of an operators' act is an account's name. */
export const IS_ABOUT_ACCOUNT = sql`${a.action} ^@ ANY (ARRAY[${commaList(ABOUT_ACCOUNTS.map((it) => sql`${it}`))}]::text[])`

/** Whether a name in an operators' act is this account's. An earlier account, and a later one, may have had it too. */
export const isNameOf = (accountId: SQL, name: SQLWrapper) => sql`(
  EXISTS (SELECT FROM ${u} WHERE ${u.id} = ${accountId} AND lower(${u.username}) = lower(${name})
                             AND ${a.at} >= ${u.createdAt})
  AND ${a.at} < coalesce(
    (SELECT min(later.created_at) FROM ${u} own JOIN ${u} later ON lower(later.username) = lower(own.username)
      WHERE own.id = ${accountId} AND own.deleted_at IS NOT NULL AND later.created_at > own.created_at), 'infinity'))`
