import type { Command } from 'commander'
import { grantApplicationRole } from '../db/application-role.js'
import { migrateDatabase } from '../db/migrate.js'
import type { Runner } from './answer.js'

export function migrateCommand(program: Command, run: Runner): void {
  program
    .command('migrate')
    .description(
      'bring the database up to date and seed an empty catalog (safe to repeat, and at once from several hosts)',
    )
    .action(
      run.bare(async ({ databaseUrl, appDatabaseUrl }) => {
        await migrateDatabase(databaseUrl)
        if (appDatabaseUrl) await grantApplicationRole(databaseUrl, appDatabaseUrl)
        return { json: { migrated: true }, text: 'The database is up to date.' }
      }),
    )
}
