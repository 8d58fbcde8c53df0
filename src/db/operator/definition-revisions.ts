import { createHash } from 'node:crypto'
import { eq, sql } from 'drizzle-orm'
import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import type { Database } from '../client.js'
import { DEFINITION_ASKED } from '../notifications.js'
import { modelDefinitions as d } from '../schema/catalog.js'
import { columns, param, setList, statement } from '../statement.js'

/** The revision with this content; a new one, if there is none. */
export async function revisionOf(
  tx: NodePgDatabase,
  { name, document }: { name: string; document: string },
): Promise<string> {
  // One import of a name at a time; without a table's lock, for which the operator's role may lack the right.
  await tx.execute(sql`SELECT pg_advisory_xact_lock(hashtextextended(${name}, 38))`)
  const hash = createHash('sha256').update(document).digest('hex')
  const revisions = await tx
    .select(columns(d, 'filename', 'revision', 'hash'))
    .from(d)
    .where(eq(d.name, name))
  const same = revisions.find((it) => it.hash === hash)
  if (same) return same.filename
  const revision = Math.max(0, ...revisions.map((it) => it.revision)) + 1
  const filename = `${name}@${revision}`
  await tx.insert(d).values({ filename, name, revision, hash, document })
  return filename
}

interface AskedDefinition {
  readonly filename: string
  readonly askedAt: Date
}

const ASK = statement<AskedDefinition>('ask_about_definitions')`
  WITH asked AS (
    UPDATE ${d} SET ${setList(d, { askedAt: sql`now()` })}
     WHERE ${d.filename} = ANY (${param('filenames')}::text[]) RETURNING ${d.filename})
  SELECT asked.filename, now() AS "askedAt" FROM asked, pg_notify(${DEFINITION_ASKED}, '')`

/** Has workers look whether their backends can draw with these definitions. @returns those that there are */
export const askAbout = ({ pool }: Database, filenames: readonly string[]): Promise<AskedDefinition[]> =>
  ASK.rows(pool, { filenames })
