/** `npm run migration -- <name>` begins the next migration: an SQL file with a comment to complete, and its entry in the journal. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MIGRATIONS } from '../../core/release.js'

/** Behind the last one, whatever the clock says: the migrator goes by this order. */
const APART_MS = 1000

/** @returns the new file's path */
export function newMigration(name: string, folder = MIGRATIONS): string {
  const words = name.toLowerCase().match(/[a-z0-9]+/g)
  if (!words) throw new Error('Name the migration: npm run migration -- <name>')
  const journal = join(folder, 'meta/_journal.json')
  const text = readFileSync(journal, 'utf8')
  const { idx, when } = JSON.parse(text).entries.at(-1)
  const tag = `${String(idx + 2).padStart(4, '0')}_${words.join('_')}`
  const path = join(folder, `${tag}.sql`)
  writeFileSync(path, `-- What ${words.join(' ')} is for.\n\n`, { flag: 'wx' })
  const entry = `{ "idx": ${idx + 1}, "version": "7", "when": ${when + APART_MS}, "tag": "${tag}", "breakpoints": true }`
  writeFileSync(journal, text.replace(/\s*\]\s*\}\s*$/, `,\n    ${entry}\n  ]\n}\n`))
  return path
}

if (import.meta.filename === process.argv[1]) console.log(newMigration(process.argv.slice(2).join(' ')))
