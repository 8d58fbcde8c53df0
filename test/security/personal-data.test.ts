import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Column } from 'drizzle-orm'
import { getTableName } from 'drizzle-orm'
import { afterAll, expect, it } from 'vitest'
import type { ArchiveFiles } from '../../src/core/generations/archive-months.js'
import type { Database } from '../../src/db/client.js'
import { EXPORTED } from '../../src/db/gallery/exported.js'
import { archiveFiles } from '../../src/images/archive-files.js'
import { createLogger } from '../../src/process/logger.js'
import { readRedis } from '../programs/chaos/secrets.js'
import { archiveInto, forgetUses } from '../support/archived.js'
import { INSIDE } from '../support/given-webhook.js'
import { directoryOf } from '../support/image-storage.js'
import { type Mailbox, startMailbox } from '../support/mailbox.js'
import { age, move } from '../support/moved-to-months.js'
import { useService } from '../support/service.js'
import { redisAvailable, redisUrl } from '../support/services.js'
import { until } from '../support/until.js'
import { type GivenPerson, givenPerson } from './given-personal-data.js'

const logged: string[] = []
let mailbox: Mailbox
const context = useService(async () => {
  mailbox = await startMailbox()
  return {
    worker: true,
    inFiles: true,
    log: createLogger('trace', 'test', undefined, { write: (line) => void logged.push(line) }),
    env: {
      ...{ ...INSIDE, INFERENCE_URL: 'preview:', SITE_LANGUAGES: 'en,de' },
      SMTP_URL: `smtp://127.0.0.1:${mailbox.port}`,
    },
  }
})
afterAll(() => mailbox.close())

/** Exported columns that hold only words of ours, IDs and lists of them: nobody can write anything into them. */
const WORDS_OF_OURS = [
  ...['users.role', 'users.language', 'users.mails_off', 'subscriptions.status', 'api_keys.kind', 'api_keys.scope'],
  ...[
    'api_keys.hint',
    'api_keys.models',
    'generations.id',
    'generations.lane',
    'generations.status',
    'generations.model_name',
  ],
  ...['generations.filename', 'generations.sampler', 'generations.error', 'images.slug', 'images.sha256'],
  ...['images.made_with', 'idempotency_keys.generation_id', 'up_next.paused', 'credit_ledger.kind'],
  ...['credit_ledger.generation_id', 'usage.generation_id', 'payments.currency', 'paid_subscriptions.status'],
  ...['payment_events.type', 'webhook_endpoints.id', 'webhook_endpoints.kind', 'webhook_endpoints.events'],
  ...['webhook_endpoints.disabled_reason', 'webhook_deliveries.endpoint_id', 'webhook_deliveries.event_id'],
  ...['webhook_deliveries.type', 'webhook_deliveries.generation_id', 'webhook_deliveries.status'],
  ...['webhook_deliveries.last_error', 'notices.kind', 'refused_prompts.parameter', 'refused_prompts.category'],
  ...['refused_prompts.matched', 'image_reports.slug', 'image_reports.reason', 'operator_actions.action'],
  // Of the reconciler, for a plan that there is.
  'subscriptions.period_plan',
]

interface Decision {
  readonly column: string
  /** Undefined: it is not exported. */
  readonly file: string | undefined
  readonly isExplained: boolean
  readonly stays: boolean
}

/** What docs/privacy.md says of each column. */
async function decisions(): Promise<Decision[]> {
  const text = await readFile(new URL('../../docs/privacy.md', import.meta.url), 'utf8')
  return [...text.matchAll(/^\| `(\w+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/gm)].flatMap(
    ([, table, columns = '', shown = '', erased = '']) =>
      columns.split(', ').map((name) => ({
        column: `${table}.${name.trim()}`,
        file: /^`([\w-]+)\.json`$/.exec(shown)?.[1],
        isExplained: /^(`[\w-]+\.json`|no: .+)$/.test(shown) && /^(gone|emptied|stays: .+)/.test(erased),
        stays: erased.startsWith('stays'),
      })),
  )
}

async function columnsOf({ pool }: Pick<Database, 'pool'>) {
  const { rows } = await pool.query<{ name: string; type: string }>(
    `SELECT c.table_name || '.' || c.column_name AS name, c.data_type AS type
       FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
      WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name !~ '^all_|_\\d{4}_\\d\\d$' ORDER BY 1`,
  )
  return rows
}

/** What is wrong with the decisions about the columns that there are. */
async function undecided(db: Pick<Database, 'pool'>): Promise<string[]> {
  const decided = await decisions()
  const there = (await columnsOf(db)).map(({ name }) => name)
  const named = decided.map(({ column }) => column)
  return [
    ...there.filter((it) => !named.includes(it)).map((it) => `${it} is not in docs/privacy.md`),
    ...named.filter((it) => !there.includes(it)).map((it) => `docs/privacy.md lists ${it}, which there is not`),
    ...named.filter((it, n) => named.indexOf(it) < n).map((it) => `docs/privacy.md lists ${it} twice`),
    ...decided
      .filter(({ isExplained }) => !isExplained)
      .map(({ column }) => `docs/privacy.md does not say why: ${column}`),
  ]
}

/** By column, the marks that are anywhere in it. */
async function marked({ pool }: Pick<Database, 'pool'>, { root, marks }: GivenPerson) {
  const found = new Map<string, Set<string>>()
  const tables = new Set((await columnsOf({ pool } as Database)).map(({ name }) => name.split('.')[0] as string))
  const { rows: parts } = await pool.query<{ name: string }>(`SELECT relname AS name FROM pg_class WHERE relkind = 'p'`)
  const partitioned = new Set(parts.map(({ name }) => name))
  for (const table of tables) {
    const all = partitioned.has(`all_${table}`) ? `all_${table}` : table
    const { rows } = await pool.query<{ name: string; value: string }>(
      `SELECT field.key AS name, field.value FROM ${all} t, jsonb_each_text(to_jsonb(t)) field WHERE field.value LIKE $1`,
      [`%${root}%`],
    )
    for (const { name, value } of rows) {
      const column = `${table}.${name}`
      found.set(column, new Set([...(found.get(column) ?? []), ...marks(value)]))
    }
  }
  return found
}

async function filesWith(directory: string, root: string): Promise<string[]> {
  const names = await readdir(directory, { recursive: true, withFileTypes: true })
  const files = names.filter((it) => it.isFile()).map((it) => join(it.parentPath, it.name))
  const found: string[] = []
  for (const file of files) if (file.includes(root) || (await readFile(file)).includes(root)) found.push(file)
  return found
}

/** Also what is in a folder or reported, which would stay. */
async function archiveAll(db: Database, files: ArchiveFiles): Promise<void> {
  const { rows } = await db.pool.query(
    `WITH dismissed AS (UPDATE image_reports SET dismissed_at = now()) DELETE FROM folder_images RETURNING *`,
  )
  // Accounts of the other cases were exported, and their files may still be on their way.
  await until(async () => {
    await forgetUses(db)
    await archiveInto(db, files)
    return (await db.pool.query('SELECT FROM all_generations WHERE month IS NOT NULL')).rowCount === 0
  }, 'all is archived')
  await db.pool.query('INSERT INTO folder_images SELECT * FROM jsonb_populate_recordset(NULL::folder_images, $1)', [
    JSON.stringify(rows),
  ])
}

it('fails when a column is added, removed or listed twice and nobody decided about it', async () => {
  const { db } = context.service
  expect(await undecided(db)).toEqual([])
  await db.pool.query('ALTER TABLE users ADD COLUMN shoe_size text; CREATE TABLE diaries (entry text)')
  expect(await undecided(db)).toEqual([
    'diaries.entry is not in docs/privacy.md',
    'users.shoe_size is not in docs/privacy.md',
  ])
  await db.pool.query('ALTER TABLE users DROP COLUMN shoe_size; DROP TABLE diaries')
})

it('exports the columns that docs/privacy.md says', async () => {
  const listed = (await decisions()).flatMap(({ file, column }) => (file ? `${file}: ${column}` : []))
  // A partitioned table has the columns of its live one.
  const nameOf = (column: Column) => `${getTableName(column.table).replace(/^all_/, '')}.${column.name}`
  const exported = Object.entries(EXPORTED).flatMap(([file, part]) =>
    part.columns.map((it) => `${file}: ${nameOf(it)}`),
  )
  expect(exported.toSorted()).toEqual(listed.toSorted())
})

it.each([
  ['', 'live'],
  [', also of what has moved to its months', 'moved'],
  [', also of what is archived', 'archived'],
])(
  'exports everything that was planted, and leaves of it after the erasure what docs/privacy.md lists%s',
  async (_, where) => {
    const { db, url, config } = context.service
    const person = await givenPerson(context.service, mailbox)
    if (where !== 'live') {
      await age(db, 500)
      expect((await move(db)).generations).toBeGreaterThan(0)
    }
    const decided = new Map((await decisions()).map((it) => [it.column, it]))

    const before = await marked(db, person)
    const unplanted = (await columnsOf(db)).filter(
      ({ name, type }) =>
        decided.get(name)?.file && /text|json|ARRAY/.test(type) && !before.has(name) && !WORDS_OF_OURS.includes(name),
    )
    expect(unplanted.map(({ name }) => name)).toEqual([])

    if (where === 'archived') await archiveAll(db, archiveFiles(config))
    const files = await person.exported()
    const inFile = (name: string) => person.marks(String(files.get(`${name}.json`)))
    const missing = [...before].flatMap(([column, marks]) => {
      const file = decided.get(column)?.file
      return file ? [...marks].filter((it) => !inFile(file).includes(it)).map((it) => `${it} of ${column}`) : []
    })
    expect(missing).toEqual([])
    // What the export leaves out is other people's, or a secret.
    const everywhere = person.marks([...files.values()].map(String).join())
    const leftOut = [...before].flatMap(([column, marks]) =>
      [...marks].filter((it) => !everywhere.includes(it)).map((it) => `${it.split('-')[1]} of ${column}`),
    )
    expect(leftOut.toSorted()).toEqual([
      'mailed of unsent_mails.body',
      'once of admin_requests.key',
      'report of image_reports.note',
    ])
    // The moment might tell who it was.
    expect(JSON.parse(String(files.get('reports.json')))).toMatchObject([
      { reason: 'likeness', at: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) },
    ])
    const images = [...files].filter(([name]) => name.startsWith('images/'))
    expect(images.map(([name]) => name)).toEqual(person.held.map((slug) => `images/${slug}.png`))
    for (const [, png] of images) expect(png.subarray(1, 4).toString()).toBe('PNG')
    expect(String(files.get('README.txt'))).toContain('Alles, was zum Konto')
    const { rows: secrets } = await db.pool.query<{ secret: string }>(
      `SELECT secret FROM webhook_secrets WHERE user_id = $1 UNION ALL
     SELECT secret FROM webhook_endpoints WHERE user_id = $1 AND secret IS NOT NULL UNION ALL
     SELECT password_hash FROM users WHERE id = $1`,
      [person.id],
    )
    expect(secrets).toHaveLength(3)
    for (const text of [person.key, ...secrets.map(({ secret }) => secret), `${person.cookie?.split('=')[1]}`])
      for (const [name, bytes] of files) expect([name, bytes.includes(text)]).toEqual([name, false])

    await person.erase()
    await until(
      async () => (await db.pool.query('SELECT FROM account_purges WHERE user_id = $1', [person.id])).rowCount === 0,
      'the end of the wipe',
    )
    const left = [...(await marked(db, person)).keys()].filter((column) => !decided.get(column)?.stays)
    expect(left).toEqual([])
    for (const slug of person.slugs) expect((await fetch(`${url}/image/${slug}`)).status).toBe(410)
    expect(await filesWith(directoryOf(config), person.root)).toEqual([])
    for (const slug of person.slugs) expect(await filesWith(directoryOf(config), slug)).toEqual([])
    if (redisAvailable) expect(await readRedis(await redisUrl(), new RegExp(person.root))).toEqual([])
    expect(logged.length).toBeGreaterThan(5)
    expect(logged.filter((line) => line.includes(person.root))).toEqual([])
  },
)
