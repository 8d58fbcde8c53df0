import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { MIGRATIONS } from '../../../src/core/release.js'
import { PREVIOUS_RELEASE } from './previous-release.js'

/** What takes something away from code that reads and writes as before. */
const CONTRACTIONS: Readonly<Record<string, RegExp>> = {
  'drops something': /\bDROP (TABLE|COLUMN|TYPE|VIEW|FUNCTION|SCHEMA|DEFAULT)\b/i,
  'renames something': /^(?! ?ALTER INDEX).*\bRENAME\b(?! CONSTRAINT)/i,
  'changes a type': /\bALTER (COLUMN )?\w+ (SET DATA )?TYPE\b/i,
  'forbids null': /\bSET NOT NULL\b/i,
  'adds a column that must be given':
    /\bADD COLUMN (?:\([^)]*\)|[^,;(])*?\bNOT NULL\b(?!(?:\([^)]*\)|[^,;(])*\bDEFAULT\b)/i,
  'adds a condition': /\bADD (CONSTRAINT|CHECK|UNIQUE|PRIMARY|FOREIGN)\b/i,
}

const partsOf = (version: string) => version.split('.').map(Number)
const isAtMost = (one: string, other: string): boolean => {
  const [a, b] = [partsOf(one), partsOf(other)]
  const first = a.findIndex((part, n) => part !== b[n])
  return first < 0 || (a[first] as number) < (b[first] as number)
}

/** A table may get another name when a view keeps the old one. */
const hasViewOfOldName = (migration: string, code: string): boolean => {
  const oldName = /\bALTER TABLE (\w+) RENAME TO\b/i.exec(code)?.[1]
  return oldName !== undefined && new RegExp(`\\bCREATE VIEW ${oldName} AS\\b`, 'i').test(migration)
}

/** A condition may be replaced by one that allows more, which a line `-- wider: what` says. */
const isWidened = (statement: string, code: string): boolean => {
  const added = [...code.matchAll(/\bADD CONSTRAINT (\w+)/gi)].map(([, name]) => name as string)
  return (
    /^-- wider: \S/m.test(statement) &&
    added.length > 0 &&
    added.every((name) => new RegExp(`\\bDROP CONSTRAINT ${name}\\b`, 'i').test(code)) &&
    !/\bADD (CHECK|UNIQUE|PRIMARY|FOREIGN)\b/i.test(code)
  )
}

/** A condition of a column that the release before does not know, which a line `-- new column: name` says, meets none of its rows. */
const isOfNewColumn = (migration: string, statement: string, code: string): boolean => {
  const column = /^-- new column: (\w+)\./m.exec(statement)?.[1]
  return (
    column !== undefined &&
    new RegExp(`\\bADD COLUMN (IF NOT EXISTS )?${column}\\b`, 'i').test(migration) &&
    new RegExp(`\\bADD CONSTRAINT \\w+ CHECK \\(${column} IS NULL\\) NOT VALID;?\\s*$`, 'i').test(code)
  )
}

/** What a migration does that the previous release may not survive, statement by statement. */
function contractionsOf(migration: string): string[] {
  return migration.split('--> statement-breakpoint').flatMap((statement) => {
    const since = /^-- unused since (\d+\.\d+\.\d+): \S/m.exec(statement)?.[1]
    if (since && isAtMost(since, PREVIOUS_RELEASE.version)) return []
    const code = statement
      .replace(/--.*$/gm, '')
      // What a function does to tables that it makes.
      .replace(/\bCREATE (?:OR REPLACE )?FUNCTION\b.*?\$\$.*?\$\$/gis, '')
      // A default behind the words, too.
      .replace(/\b(DEFAULT (?:\([^)]*\)|'[^']*'|[^\s,;]+)) NOT NULL\b/gi, 'NOT NULL $1')
      .replace(/\s+/g, ' ')
    if (hasViewOfOldName(migration, code)) return []
    return Object.keys(CONTRACTIONS).filter(
      (what) =>
        CONTRACTIONS[what]?.test(code) &&
        !(what === 'adds a condition' && (isWidened(statement, code) || isOfNewColumn(migration, statement, code))),
    )
  })
}

describe('what a release migrates while the one before serves', () => {
  it('takes nothing away that the release before still uses', () => {
    const files = readdirSync(MIGRATIONS).filter((name) => /^\d+_.*\.sql$/.test(name))
    const newer = files.filter((name) => name > `${PREVIOUS_RELEASE.lastMigration}.sql`)
    const found = newer.flatMap((name) =>
      contractionsOf(readFileSync(join(MIGRATIONS, name), 'utf8')).map((what) => `${name} ${what}`),
    )
    expect(found).toEqual([])
  })

  it.each([
    ['DROP TABLE notes', ['drops something']],
    ['ALTER TABLE users DROP COLUMN email', ['drops something']],
    ['ALTER TABLE users ALTER COLUMN role DROP DEFAULT', ['drops something']],
    ['ALTER TABLE users RENAME COLUMN email TO mail', ['renames something']],
    ['ALTER TABLE users RENAME TO accounts', ['renames something']],
    [
      'ALTER TABLE users RENAME TO accounts;\n--> statement-breakpoint\nCREATE VIEW users AS SELECT * FROM accounts',
      [],
    ],
    ['ALTER INDEX users_email RENAME TO accounts_email', []],
    ['ALTER TABLE users ALTER COLUMN credits TYPE integer', ['changes a type']],
    ['ALTER TABLE users ALTER email SET NOT NULL', ['forbids null']],
    ['ALTER TABLE users ADD COLUMN a text, ADD COLUMN b text NOT NULL', ['adds a column that must be given']],
    [
      'ALTER TABLE users ADD COLUMN b numeric(4, 2) NOT NULL,\n  ADD COLUMN a text DEFAULT 1',
      ['adds a column that must be given'],
    ],
    ["ALTER TABLE users ADD COLUMN b text NOT NULL DEFAULT ''", []],
    ["ALTER TABLE users ADD COLUMN b text DEFAULT 'a b' NOT NULL, ADD COLUMN c text", []],
    ['ALTER TABLE users ADD CONSTRAINT positive CHECK (credits > 0)', ['adds a condition']],
    [
      `-- wider: one more kind\nALTER TABLE a DROP CONSTRAINT b, ADD CONSTRAINT b CHECK (kind IN ('c', 'd')) NOT VALID`,
      [],
    ],
    ['ALTER TABLE a DROP CONSTRAINT b, ADD CONSTRAINT b CHECK (c > 0)', ['adds a condition']],
    ['-- wider: no\nALTER TABLE a DROP CONSTRAINT b, ADD CONSTRAINT c CHECK (c > 0)', ['adds a condition']],
    [
      'ALTER TABLE a ADD COLUMN b date;\n--> statement-breakpoint\n-- new column: b.\nALTER TABLE a ADD CONSTRAINT c CHECK (b IS NULL) NOT VALID',
      [],
    ],
    ['-- new column: b.\nALTER TABLE a ADD CONSTRAINT c CHECK (b IS NULL) NOT VALID', ['adds a condition']],
    ['CREATE TABLE notes (id text PRIMARY KEY, note text NOT NULL UNIQUE)', []],
    ['-- It may DROP COLUMN later.\nALTER TABLE users ADD COLUMN a text', []],
    [`-- unused since ${PREVIOUS_RELEASE.version}: the mails are in a table\nALTER TABLE users DROP COLUMN email`, []],
    ['-- unused since 99.0.0: it is too early\nALTER TABLE users DROP COLUMN email', ['drops something']],
    [
      `-- unused since ${PREVIOUS_RELEASE.version}: this one\nDROP TABLE a;\n--> statement-breakpoint\nDROP TABLE b`,
      ['drops something'],
    ],
  ])('is recognized statement by statement: %s', (migration, found) => {
    expect(contractionsOf(migration)).toEqual(found)
  })
})
