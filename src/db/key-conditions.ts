/** When an API key may be used. */
import { sql } from 'drizzle-orm'
import { apiKeys as k } from './schema/accounts.js'

/** Neither revoked nor past its end. */
export const USABLE_KEY = sql`${k.revokedAt} IS NULL AND (${k.expiresAt} IS NULL OR ${k.expiresAt} > now())`
