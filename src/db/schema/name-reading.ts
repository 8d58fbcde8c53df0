import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { DRAWN_ALIKE, READ_AS } from '../../core/accounts/username.js'

/** The same for names that people take for each other, as in core/accounts/username.ts. */
export const readingOf = (name: SQLWrapper): SQL =>
  sql`replace(replace(translate(lower(${name}), ${sql.raw(`'${DRAWN_ALIKE}', '${READ_AS}'`)}), 'rn', 'm'), 'vv', 'w')`
