import { fileURLToPath } from 'node:url'
import { type PgQueryable, runMigrations } from 'bullmq'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate } from 'drizzle-orm/node-postgres/migrator'
import pg from 'pg'
import { SEED_MODELS } from '../catalog/seed.js'
import { modelVersions } from './schema.js'

const MIGRATIONS = fileURLToPath(new URL('../../migrations', import.meta.url))

/**
 * Brings a database up to date: our tables, what BullMQ's Postgres backend needs, and the catalog if that is empty.
 * Safe when several replicas do it at once; the later ones wait and find nothing to do.
 */
export async function migrateDatabase(databaseUrl: string): Promise<void> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: 5000,
    application_name: 'easel migrate',
  })
  await client.connect()
  try {
    // Drizzle's migrate() takes no lock; without this one, two at once fail.
    await client.query(`SELECT pg_advisory_lock(hashtext('easel:migrate'))`)
    const db = drizzle(client)
    await migrate(db, { migrationsFolder: MIGRATIONS })
    await runMigrations(client as unknown as PgQueryable)
    const [some] = await db.select({ id: modelVersions.id }).from(modelVersions).limit(1)
    if (!some) await db.insert(modelVersions).values([...SEED_MODELS])
  } finally {
    await client.end()
  }
}
