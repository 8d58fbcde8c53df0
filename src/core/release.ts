/** What this program is, as the files beside it tell. */
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Shown to whoever asks. */
export interface Release {
  readonly version: string
  /** Of the source it was built from; null where the build was not told. */
  readonly commit: string | null
  /** The last migration that it knows. The database needs this one, and may have newer ones. */
  readonly schema: string
}

/** The directory of package.json. A bundle lies elsewhere than its sources. */
const ROOT = ['../', '../../', '../../../', '../../../../']
  .map((path) => new URL(path, import.meta.url))
  .find((url) => existsSync(new URL('package.json', url))) as URL

const json = (path: string) => JSON.parse(readFileSync(new URL(path, ROOT), 'utf8'))

export const version = (): string => json('package.json').version

/** Where the SQL files are, and their journal. */
export const MIGRATIONS = fileURLToPath(new URL('migrations', ROOT))

interface JournalEntry {
  readonly tag: string
  /** As the database records it. */
  readonly when: number
}

/** The last migration of this program. */
export const lastMigration = (): JournalEntry => json('migrations/meta/_journal.json').entries.at(-1)

/** @param commit as the build was told, if it was */
export const release = (commit: string | undefined): Release => ({
  version: version(),
  commit: commit ?? null,
  schema: lastMigration().tag,
})
