import { type SQL, sql } from 'drizzle-orm'
import { unsentMails as m, users as u } from './schema/accounts.js'

/**
 * Whether a waiting mail is to the account. Its confirmed address counts alone: anybody can type another's address, and
 * would see whether Easel writes to it. A deleted account's address may be another's by now.
 */
export const isMailTo = (accountId: SQL) => sql`EXISTS (
  SELECT FROM ${u} WHERE ${u.id} = ${accountId} AND lower(${u.email}) = lower(${m.recipient})
                     AND (${u.deletedAt} IS NULL OR ${m.createdAt} <= ${u.deletedAt}))`
