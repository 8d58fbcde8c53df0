import { sql } from 'drizzle-orm'
import pg from 'pg'
import { sqlState } from './client.js'
import { queryOnce } from './statement.js'

/** Ours, and BullMQ's for one-machine mode. */
const SCHEMAS = ['public', 'bullmq']

/**
 * Lets the user of `applicationUrl` do what servers, workers and the command line do, and no more: read and write rows.
 * The user is made where it is missing, and gets the URL's password, if that has one. To be repeated after each
 * migration, for new tables.
 * @param ownerUrl the database, as the owner of its tables
 * @throws Error with one sentence when the URL names no user, the user could do more anyway, or the owner may not make
 * users
 */
export async function grantApplicationRole(ownerUrl: string, applicationUrl: string): Promise<void> {
  const { username, password } = new URL(applicationUrl)
  const name = decodeURIComponent(username)
  if (!name) throw new Error('APP_DATABASE_URL names no user.')
  const role = pg.escapeIdentifier(name)
  const client = new pg.Client({ connectionString: ownerUrl, connectionTimeoutMillis: 5000 })
  client.on('error', () => undefined)
  await client.connect()
  try {
    const [known] = await queryOnce<{ mighty: boolean }>(
      client,
      sql`SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolname = current_user AS mighty
            FROM pg_roles WHERE rolname = ${name}`,
    )
    if (known?.mighty)
      throw new Error(`The user "${name}" of APP_DATABASE_URL may do more than read and write rows: name another one.`)
    // An empty one would take away the one that the user has.
    const secret = password && `PASSWORD ${pg.escapeLiteral(decodeURIComponent(password))}`
    await client.query(`${known ? 'ALTER' : 'CREATE'} ROLE ${role} LOGIN ${secret}`)
    for (const schema of SCHEMAS) await grant(client, schema, role)
    await client.query(`REVOKE UPDATE, DELETE ON credit_ledger FROM ${role}`)
  } catch (error) {
    if (sqlState(error) !== '42501') throw error
    const sentence = 'The user of DATABASE_URL may not make the one of APP_DATABASE_URL: make it yourself first.'
    throw new Error(sentence, { cause: error })
  } finally {
    await client.end()
  }
}

async function grant(client: pg.Client, schema: string, role: string): Promise<void> {
  const within = `IN SCHEMA ${schema} TO ${role}`
  await client.query(`
    REVOKE CREATE ON SCHEMA ${schema} FROM PUBLIC;
    GRANT USAGE ON SCHEMA ${schema} TO ${role};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES ${within};
    GRANT USAGE ON ALL SEQUENCES ${within};
    GRANT EXECUTE ON ALL FUNCTIONS ${within}`)
}
