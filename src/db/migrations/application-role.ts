import { sql } from 'drizzle-orm'
import pg from 'pg'
import { JOURNAL } from '../checks/database-checks.js'
import { hostsIn, postgresClient } from '../hosts.js'
import { CREATE_IMAGE_STREAK } from '../schema/generations.js'
import { sqlState } from '../sql-state.js'
import { queryOnce } from '../statement.js'

/** Ours, and BullMQ's for one-machine mode. */
const SCHEMAS = ['public', 'bullmq']

/**
 * Lets the user of `applicationUrl` read and write rows, and nothing else. Creates the user if it is missing, and sets the
 * URL's password, if it has one. To be repeated after each migration, for new tables.
 * @param ownerUrl the database, as the owner of its tables
 * @throws Error with one sentence if the URL names no user, the user has more rights, or the owner may not create users
 */
export async function grantApplicationRole(ownerUrl: string, applicationUrl: string): Promise<void> {
  const { username, password } = new URL(hostsIn(applicationUrl).urls[0])
  const name = decodeURIComponent(username)
  if (!name) throw new Error('APP_DATABASE_URL names no user.')
  const role = pg.escapeIdentifier(name)
  const client = postgresClient(ownerUrl, { connectionTimeoutMillis: 5000 })
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
    // An empty password would remove the user's own.
    const secret = password && `PASSWORD ${pg.escapeLiteral(decodeURIComponent(password))}`
    await client.query(`${known ? 'ALTER' : 'CREATE'} ROLE ${role} LOGIN ${secret}`)
    for (const schema of SCHEMAS) await client.query(rights(schema, role))
    // They act as the owner. A restore without the dump's rights gives everybody this one.
    await client.query(
      'REVOKE ALL ON FUNCTION add_month(date), move_to_months(text[]), drop_archived_month(date) FROM PUBLIC',
    )
    const ledgers = await queryOnce<{ name: string }>(
      client,
      sql`SELECT relid::regclass::text AS name FROM pg_partition_tree('all_credit_ledger')`,
    )
    for (const name of [...ledgers.map((it) => it.name), 'operator_actions'])
      await client.query(`REVOKE UPDATE, DELETE ON ${name} FROM ${role}`)
    // Claims begin its count anew, and servers read it.
    await client.query(`GRANT SELECT, UPDATE ON SEQUENCE ${CREATE_IMAGE_STREAK} TO ${role}`)
    // Who serves asks whether the database is up to date.
    await queryOnce(client, sql`GRANT USAGE ON SCHEMA drizzle TO ${sql.raw(role)}`)
    await queryOnce(client, sql`GRANT SELECT ON ${JOURNAL} TO ${sql.raw(role)}`)
  } catch (error) {
    if (sqlState(error) !== '42501') throw error
    const sentence = 'The user of DATABASE_URL may not make the one of APP_DATABASE_URL: make it yourself first.'
    throw new Error(sentence, { cause: error })
  } finally {
    await client.end()
  }
}

const rights = (schema: string, role: string) => `
  REVOKE CREATE ON SCHEMA ${schema} FROM PUBLIC;
  GRANT USAGE ON SCHEMA ${schema} TO ${role};
  GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role};
  GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${schema} TO ${role};
  GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA ${schema} TO ${role}`
