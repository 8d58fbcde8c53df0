import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { SAMPLERS } from '../../src/core/generations/generation.js'
import type { ClaimedGeneration } from '../../src/core/generations/run/ports.js'
import type { ClaimedUpNext } from '../../src/core/up-next/submitting.js'
import { accountStore } from '../../src/db/accounts/accounts.js'
import { usageStore } from '../../src/db/accounts/usage.js'
import type { Database } from '../../src/db/client.js'
import { accountExports } from '../../src/db/gallery/account-export.js'
import { imageDeletions } from '../../src/db/gallery/deletions.js'
import { folderStore } from '../../src/db/gallery/folders.js'
import { galleryStore } from '../../src/db/gallery/gallery.js'
import { queuePositions } from '../../src/db/generations/estimates.js'
import { historyStore } from '../../src/db/generations/history.js'
import { pollStore } from '../../src/db/generations/poll.js'
import { reconcileStore } from '../../src/db/generations/reconcile.js'
import { retentionStore } from '../../src/db/generations/retention.js'
import { runStore } from '../../src/db/generations/run.js'
import { submissionStore } from '../../src/db/generations/submit/charged.js'
import { hiddenImageRows } from '../../src/db/images/hidden-images.js'
import { takedownStore } from '../../src/db/images/takedowns.js'
import { oversight } from '../../src/db/operator/overview.js'
import { recentImages } from '../../src/db/operator/recent-images.js'
import { serviceState } from '../../src/db/operator/service-state.js'
import { upNextQueue } from '../../src/db/up-next/queue.js'
import { upNextStore } from '../../src/db/up-next/up-next.js'
import { patientDatabase, useDatabase } from '../support/database.js'
import { aGeneration, type GivenUser, givenGeneration, givenUser, MODEL } from '../support/givens.js'

/** The newest of a few. */
const NEWEST_MONTH = 'all of months_pkey'

/** There are few in here. Without statistics any index of the account's keys. */
const IMAGES = ['images_generation_id_idx_key', 'all of images', 'api_keys_website', 'api_keys_user']

/** Of few rows, which may be sorted. */
const SORTED = ['generations_history_of_status', 'generations_history_of_model']

const QUEUE = ['generations_pkey', 'generations_queue', 'generations_queue_of_kind', 'generations_queue_of_model']

/**
 * What is asked all the time takes the indexes made for it, however many wait and whatever Postgres believes of that:
 * before any ANALYZE, after one that met an empty queue, and right after one.
 */
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  'key look-up': ['api_keys_hash_key', 'users_pkey'],
  submit: ['api_keys_pkey', 'generations_one_active', 'users_pkey'],
  'submit without credits': [
    ...['api_keys_pkey', 'generations_one_active', 'users_pkey', 'images_generation_id_idx_key'],
    // What its key has spent this month, if that is limited.
    'generations_history',
  ],
  'active generation': ['generations_one_active', 'images_generation_id_idx_key'],
  'developer’s submit': ['api_keys_pkey', 'generations_metered', 'users_pkey'],
  claim: QUEUE,
  'claim with affinity': QUEUE,
  // What is processing is no more than there are GPUs.
  heartbeat: ['generations_pkey', 'generations_processing'],
  succeed: ['generations_pkey', 'generations_processing', 'users_pkey', 'api_keys_pkey'],
  fail: ['generations_pkey', 'generations_processing', 'users_pkey'],
  requeue: ['generations_pkey', 'generations_processing'],
  poll: ['generations_pkey', 'images_generation_id_idx_key'],
  // It counts all that waits.
  position: ['generations_queue', 'all of generations'],
  // Without statistics any index of the user's own.
  history: ['generations_history', 'generations_history_of_model', 'images_generation_id_idx_key', NEWEST_MONTH],
  'history of a status': ['generations_history_of_status', 'images_generation_id_idx_key', NEWEST_MONTH],
  'history of a model': ['generations_history_of_model', 'images_generation_id_idx_key', NEWEST_MONTH],
  // Of the past only the newest are read; of the present all, like positions.
  overview: [
    ...['generations_processing', 'generations_newest_succeeded', 'generations_newest_failed', 'users_pkey'],
    ...['generations_queue', 'all of generations', 'images_pkey'],
  ],
  'images of all accounts': ['generations_newest_succeeded', 'users_pkey', 'images_generation_id_idx_key'],
  // Likewise, but no more than a fixed number of what waits.
  'state of the service': [
    ...['generations_queue', 'generations_processing', 'webhook_deliveries_waiting', 'all of generations'],
    'images_pkey',
  ],
  // Without statistics any index of the user's own, and that of what has failed where it is believed to be little.
  usage: [
    ...['generations_usage', 'generations_history', 'generations_history_of_status', 'generations_history_of_model'],
    'generations_newest_failed',
    ...['api_keys_pkey', 'api_keys_website', 'api_keys_user'],
  ],
  images: [...IMAGES, 'generations_history_of_status', NEWEST_MONTH],
  'search of images': [...IMAGES, 'generations_history_of_status', NEWEST_MONTH],
  'search of a model’s images': [...IMAGES, ...SORTED, NEWEST_MONTH],
  'images of a folder': ['images_pkey', 'generations_pkey', ...IMAGES],
  'images put into a folder': ['images_pkey', 'generations_pkey', ...IMAGES, ...SORTED],
  deletion: ['images_pkey', 'generations_pkey'],
  // Of all images, and of all that were ever deleted, few are being deleted.
  'deletions that can be undone': ['images_delete_at', 'generations_pkey'],
  'undone deletion': ['images_delete_at', 'images_pkey', 'generations_pkey'],
  'ended deletions': ['images_delete_at', 'images_pkey'],
  'neighbours of an image': [...IMAGES, ...SORTED, 'generations_pkey', 'images_pkey'],
  'what is no longer kept': ['users_pkey', 'generations_history', 'generations_usage', 'subscriptions_pkey'],
  'prompts that are no longer kept': ['generations_history', 'generations_pkey'],
  'images that are no longer kept': ['generations_history', 'images_generation_id_idx_key'],
  'images of an export': ['generations_history', ...SORTED, 'images_generation_id_idx_key'],
  requeueLost: ['generations_pkey', 'generations_processing'],
  failLost: ['generations_pkey', 'generations_processing', 'users_pkey'],
  failExpired: ['generations_deadline', 'generations_pkey', 'users_pkey'],
  notEnqueued: ['generations_pkey'],
  firstQueued: ['generations_queue'],
  activePage: ['generations_one_active'],
  'webhook endpoint due': ['webhook_endpoints_due'],
  'webhook delivery due': ['webhook_deliveries_due', 'webhook_deliveries_pkey'],
  'what is up next': ['up_next_due', 'up_next_pkey', 'up_next_ideas_position'],
  'up next later': ['up_next_pkey', 'up_next_ideas_position'],
  'refusal of an idea': ['up_next_pkey', 'up_next_ideas_pkey'],
  'submit of an idea': [
    ...['api_keys_pkey', 'generations_one_active', 'users_pkey'],
    'generations_history',
    ...['up_next_pkey', 'up_next_ideas_pkey'],
  ],
  'hidden image': ['images_pkey'],
  'images that leave': ['images_pkey'],
}
const WAITING = 10_000
const ENDED = 3000
const LARGE = [
  'generations',
  'images',
  'api_keys',
  'users',
  'webhook_deliveries',
  'webhook_endpoints',
  'up_next',
  'up_next_ideas',
]

const context = useDatabase()
const asked: Record<string, { text: string; values: unknown[] }[]> = {}
let planner: pg.Client
let past: GivenUser

beforeAll(async () => {
  planner = new pg.Client(context.url)
  await planner.connect()
  for (const table of LARGE) await planner.query(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`)
  past = await givenUser(context.db)
  await fillQueue('first')
  await askAll()
})
afterAll(() => planner.end())

it('frequent statements use the indexes made for them before there are any statistics', expectPlans)

it('frequent statements use the indexes made for them with statistics of an empty queue', async () => {
  await planner.query('TRUNCATE generations CASCADE')
  await planner.query(
    `INSERT INTO generations (id, user_id, api_key_id, lane, metered, status, model_version_id, model_name, filename, prompt,
       negative_prompt, width, height, batch_size, steps, cfg_scale, sampler, seed, slugs, cost, deadline_at, finished_at,
       created_at, error)
     SELECT 'gen_' || n, coalesce(u.id, $1), $2, 'personal', false, CASE n % 4 WHEN 0 THEN 'failed' ELSE 'succeeded' END,
       (SELECT array_agg(id) FROM model_versions)[1 + n % 7], 'm', 'f', 'p', '', 832, 1216, 1, 30, 7, 'euler_a', 1, ARRAY['s'], 0, now(), now(),
       now() - n * interval '1 minute', CASE n % 4 WHEN 0 THEN 'over' END
       FROM generate_series(1, ${ENDED}) n LEFT JOIN users u ON n % 20 > 0 AND u.username = 'first' || n`,
    [past.id, past.keyId],
  )
  await planner.query(
    `INSERT INTO images (slug, generation_id, idx, seed, width, height, bytes, sha256)
     SELECT id, id, 0, 1, 832, 1216, 1, 'x' FROM generations`,
  )
  await planner.query('ANALYZE')
  await fillQueue('second')
  await expectPlans()
})

it('frequent statements use the indexes made for them with fresh statistics', async () => {
  await planner.query('ANALYZE')
  await expectPlans()
})

it('frequent statements use the indexes made for them with statistics from before an upgrade added a column', async () => {
  await planner.query('SET session_replication_role = replica')
  await planner.query(
    `INSERT INTO images (slug, generation_id, idx, seed, width, height, bytes, sha256)
     SELECT 'old' || n, 'old' || n, 0, 1, 832, 1216, 1, 'x' FROM generate_series(1, ${5 * WAITING}) n`,
  )
  await planner.query('SET session_replication_role = origin')
  await planner.query('ANALYZE images')
  await planner.query(
    `DELETE FROM pg_statistic USING pg_attribute
      WHERE starelid = 'images'::regclass AND attrelid = starelid AND attnum = staattnum AND attname = 'delete_at'`,
  )
  await expectPlans()
})

/** Of as many users, with a delivery of a webhook for each, and ten ideas that are up next. */
async function fillQueue(name: string): Promise<void> {
  await planner.query(
    `WITH owner AS (
       INSERT INTO users (username, credits) SELECT $1 || n, 0 FROM generate_series(1, ${WAITING}) n RETURNING id, username
     ), key AS (
       INSERT INTO api_keys (user_id, kind, hash, hint)
       SELECT id, 'personal', sha256(username::bytea), 'x' FROM owner RETURNING id, user_id
     )
     INSERT INTO generations (id, user_id, api_key_id, lane, metered, model_version_id, model_name, filename, prompt,
       negative_prompt, width, height, batch_size, steps, cfg_scale, sampler, seed, slugs, cost, deadline_at)
     SELECT 'gen_' || user_id, user_id, id, CASE WHEN random() < 0.2 THEN 'create_image' ELSE 'personal' END, false, $2, 'm',
       'f' || floor(random() * 10), 'p', '', 832, 1216, 1, 30, 7, ($3::text[])[ceil(random() * 5)], 1, ARRAY['s'], 0,
       now() + interval '1 hour' FROM key`,
    [name, MODEL.id, SAMPLERS],
  )
  await planner.query(
    `INSERT INTO webhook_endpoints (id, user_id, kind, url, events, secret)
     SELECT $1 || n, $2, 'account', 'https://x', '{}', 's' FROM generate_series(1, ${ENDED}) n`,
    [name, past.id],
  )
  await planner.query(
    `INSERT INTO webhook_deliveries (endpoint_id, event_id, type, url)
     SELECT $1 || 1, 'e' || n, 'test', 'https://x' FROM generate_series(1, ${WAITING}) n`,
    [name],
  )
  await planner.query(
    `INSERT INTO up_next (user_id, due_at) SELECT id, now() + n_th * interval '1 second'
       FROM (SELECT id, row_number() OVER () - 5 AS n_th FROM users WHERE username LIKE $1 || '%') owner`,
    [name],
  )
  await planner.query(
    `INSERT INTO up_next_ideas (user_id, position, body) SELECT user_id, n, '{}' FROM up_next, generate_series(1, 10) n
      WHERE NOT EXISTS (SELECT FROM up_next_ideas i WHERE i.user_id = up_next.user_id)`,
  )
}

/** Has each of them asked once, and remembers the statements. */
async function askAll(): Promise<void> {
  let heard: (typeof asked)[string] = []
  const db = patientDatabase(context.url, 1)
  const connect = db.pool.connect.bind(db.pool)
  db.pool.connect = async () => {
    const client = await connect()
    if (Object.hasOwn(client, 'query')) return client
    const query = client.query.bind(client) as (...asked: unknown[]) => unknown
    client.query = ((statement: string | { text: string; values?: unknown[] }, values?: unknown[]) => {
      const { text, values: its } = typeof statement === 'string' ? { text: statement, values } : statement
      if (/^\s*(SELECT|WITH|INSERT|UPDATE|DELETE)/.test(text)) heard.push({ text, values: its ?? values ?? [] })
      return query(statement, values)
    }) as typeof client.query
    return client
  }
  const ask = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    heard = []
    const answer = await work()
    asked[what] = heard
    return answer
  }
  try {
    await askEach(db, ask)
  } finally {
    await db.pool.end()
  }
}

async function askEach(db: Database, ask: <T>(what: string, work: () => Promise<T>) => Promise<T>): Promise<void> {
  const runs = runStore(db, { refundFailed: true })
  const rows = reconcileStore(db, { refundFailed: true })
  const history = historyStore(db)
  const gallery = galleryStore(db)
  const by = { worker: 'w', backend: 'b' }
  const serves = { models: ['f1', 'f2'], samplers: SAMPLERS, maxSeed: 4294967295, sizeMultiple: 8 }
  const page = { limit: 20, after: undefined }
  const insert = (user: GivenUser) =>
    submissionStore(db).insert(aGeneration(user), { deadlineSeconds: 900, idempotencyKey: undefined })
  const poor = await givenUser(context.db, { credits: 0 })
  const developer = await givenUser(context.db, { developer: { concurrency: 4 } })
  const { id } = await givenGeneration(context.db, await givenUser(context.db))
  const mine = () => ask('claim', () => runs.claim(by, serves)) as Promise<ClaimedGeneration>

  await ask('key look-up', () => accountStore(db).findCaller(Buffer.alloc(32)))
  await ask('submit', () => insert(past))
  await ask('submit without credits', () => insert(poor))
  await ask('active generation', () => submissionStore(db).activeGeneration(past.id))
  await ask('developer’s submit', () => insert(developer))
  const [first, second, third] = [await mine(), await mine(), await mine()]
  await ask('claim with affinity', () =>
    runs.claim(by, serves, { filename: 'f2', maxDelayMs: 60_000, msPerPixelStep: 0.0001 }),
  )
  await ask('heartbeat', () => runs.heartbeat(first.id, first.attempt))
  await ask('succeed', () => runs.succeed(first, []))
  await ask('fail', () => runs.fail(second, 'It failed.'))
  await ask('requeue', () => runs.requeue(third, { reason: 'internal', countTry: false, delayMs: 0 }))
  await ask('poll', () => pollStore(db).findOwned(past.id, id))
  await ask('position', () => queuePositions(db).of({ lane: 'personal', seq: 7 }))
  await ask('history', () => history.generations(past.id, {}, page))
  await ask('history of a status', () => history.generations(past.id, { status: 'succeeded' }, page))
  await ask('history of a model', () => history.generations(past.id, { modelVersionId: MODEL.id }, page))
  await ask('usage', () => usageStore(db).of(past.id, { from: '2026-01-01', to: '2026-12-31' }))
  await ask('images of an export', () => accountExports(db).images(past.id)[Symbol.asyncIterator]().next())
  await ask('images', () => gallery.images(past.id, {}, page))
  await ask('overview', () => oversight(db).overview())
  await ask('images of all accounts', () => recentImages(db).list({ limit: 24, after: [1_000_000] }))
  await ask('state of the service', () => serviceState(db))
  const sought = { prompt: 'a%', madeOn: 'api' } as const
  await ask('search of images', () => gallery.images(past.id, sought, { limit: 20, after: [1, 2, 3] }))
  await ask('search of a model’s images', () => gallery.images(past.id, { ...sought, modelVersionId: MODEL.id }, page))
  await ask('neighbours of an image', () => gallery.neighbours(past.id, 's'))
  const folder = (await folderStore(db).create(past.id, 'Folder')) as string
  await ask('images of a folder', () => gallery.images(past.id, { folder }, page))
  await ask('images put into a folder', () => folderStore(db).add(past.id, folder, ['s']))
  const deletions = imageDeletions(db)
  await ask('deletion', () => deletions.begin(past.id, ['s'], 10))
  await ask('deletions that can be undone', () => deletions.undoable(past.id))
  await ask('undone deletion', () => deletions.undo(past.id))
  await ask('ended deletions', () => takedownStore(db).endDeletions())
  const retention = retentionStore(db)
  const kept = { prompts: 30, images: 30 }
  await ask('what is no longer kept', () => retention.overdue(kept, undefined))
  await ask('prompts that are no longer kept', () => retention.emptyPrompts(past.id, kept))
  await ask('images that are no longer kept', () => retention.removeImages(past.id, kept))
  for (const rule of ['requeueLost', 'failLost', 'failExpired', 'notEnqueued'] as const)
    await ask(rule, () => rows[rule]())
  await ask('firstQueued', () => rows.firstQueued())
  await ask('activePage', () => rows.activePage(undefined))
  const upNext = upNextQueue(db)
  const claimed = (await ask('what is up next', () => upNext.claim(30))) as ClaimedUpNext
  await ask('up next later', () => upNext.later(claimed, 300))
  const next = (await upNextQueue(context.db).claim(30)) as ClaimedUpNext
  await ask('refusal of an idea', () => upNext.refused(next, 'No.'))
  const ideaId = (await upNextStore(context.db).add(past.id, {})) as string
  const stored = { deadlineSeconds: 900, idempotencyKey: undefined, ideaId }
  await context.db.pool.query(
    `UPDATE generations SET status = 'failed', error = 'x', finished_at = now() WHERE user_id = $1 AND status IN ('queued', 'processing')`,
    [past.id],
  )
  await ask('submit of an idea', () => submissionStore(db).insert(aGeneration(past), stored))
  await ask('hidden image', () => hiddenImageRows(db).isHidden('s'))
  await ask('images that leave', () => hiddenImageRows(db).leaving())
  // No plan shows what a function does, so its statements are asked for by themselves.
  const { rows: functions } = await db.pool.query(`SELECT prosrc FROM pg_proc WHERE proname = 'claim_webhook'`)
  const within = (statement: RegExp, argument: string) =>
    statement.exec(functions[0].prosrc)?.[0].replaceAll(argument, '$1')
  asked['webhook endpoint due'] = [
    {
      text: `${within(/SELECT \* INTO endpoint .*?SKIP LOCKED/s, 'except_accounts')}`.replace('INTO endpoint ', ''),
      values: [[past.id]],
    },
  ]
  asked['webhook delivery due'] = [
    {
      text: `${within(/SELECT seq FROM webhook_deliveries.*?SKIP LOCKED/s, 'endpoint.id')}`.replace(
        'with_data',
        'true',
      ),
      values: ['whe_x'],
    },
  ]
}

async function expectPlans(): Promise<void> {
  for (const mode of ['custom', 'generic']) {
    await planner.query(`SET plan_cache_mode = force_${mode}_plan`)
    const others: Record<string, string[]> = {}
    for (const [what, statements] of Object.entries(asked)) {
      const used: string[] = []
      for (const { text, values } of statements) {
        await planner.query(`DEALLOCATE ALL; PREPARE hot AS ${text}`)
        const given = values.length > 0 ? `(${values.map(() => 'NULL')})` : ''
        const { rows } = await (mode === 'custom'
          ? planner.query(`EXPLAIN (FORMAT JSON) ${text}`, values)
          : planner.query(`EXPLAIN (FORMAT JSON) EXECUTE hot ${given}`))
        used.push(...readBy(rows[0]['QUERY PLAN'][0].Plan))
      }
      const wrong = used.filter((index) => !EXPECTED[what]?.includes(index))
      if (wrong.length > 0 || used.length === 0) others[what] = wrong
    }
    expect({ mode, others }).toEqual({ mode, others: {} })
  }
}

interface Node {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Index Cond'?: string
  readonly Plans?: readonly Node[]
}

/** The indexes of large tables that a plan reads, and such tables that it reads as a whole. */
function readBy(node: Node): string[] {
  const { 'Node Type': type, 'Relation Name': table = '', 'Index Name': index = '', Plans } = node
  const its = LARGE.some((large) => index.startsWith(`${large}_`)) ? [index] : []
  if (index.endsWith('_pkey') && !node['Index Cond']) its.push(`all of ${index}`)
  if (type === 'Seq Scan' && LARGE.includes(table)) its.push(`all of ${table}`)
  return [...its, ...(Plans ?? []).flatMap(readBy)]
}
