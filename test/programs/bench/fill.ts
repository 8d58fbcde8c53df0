/** Very many rows at once. Each is known by its number, and so are its account and its key. */
import { createHash } from 'node:crypto'
import pg from 'pg'
import { hashApiKey, newApiKey } from '../../../src/core/accounts/api-key.js'
import { SAMPLERS } from '../../../src/core/generations/generation.js'

/** Of what waits. */
export const MODELS = Array.from({ length: 10 }, (_, n) => `model-${n}.safetensors`)
/** What the first half of the queue wants, and the second half doesn't. */
export const RARE = 'deis'
const OTHERS = SAMPLERS.filter((sampler) => sampler !== RARE)

/** A connection without the pool's deadlines, foreign keys and triggers. */
export async function openFiller(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('SET session_replication_role = replica')
  return client
}

/** Those that no key needs are built afterwards, which takes a fraction of the time. */
export async function withoutIndexes(client: pg.Client, fill: () => Promise<void>): Promise<void> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `SELECT i.indexrelid::regclass::text AS name, pg_get_indexdef(i.indexrelid) AS definition
       FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
      WHERE c.relnamespace = 'public'::regnamespace AND NOT i.indisunique ORDER BY c.relkind = 'p'`,
  )
  // That of a partitioned table first, with its parts; as the last it finds its parts again.
  for (const { name } of rows.toReversed()) await client.query(`DROP INDEX IF EXISTS ${name}`)
  await fill()
  for (const { definition } of rows) await client.query(definition.replace(' ON ONLY ', ' ON '))
}

export const accountId = (n: number): string => uuidOf(`u${n}`)
export const keyId = (n: number): string => uuidOf(`k${n}`)
export const storedId = (n: number): string => `gen_${String(n).padStart(26, '0')}`

function uuidOf(text: string): string {
  return createHash('md5')
    .update(text)
    .digest('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** Accounts 0 to `count`, each with a personal key. */
export async function givenAccounts(client: pg.Client, count: number): Promise<void> {
  const numbers = `FROM generate_series(0, ${count - 1}) n`
  await client.query(`
    INSERT INTO users (id, username, credits) SELECT md5('u' || n)::uuid, 'u' || n, 1000000 ${numbers};
    INSERT INTO api_keys (id, user_id, kind, hash, hint)
      SELECT md5('k' || n)::uuid, md5('u' || n)::uuid, 'personal', sha256(n::text::bytea), 'h' ${numbers}`)
}

/** Gives these accounts keys that can be used, in the same order. */
export async function givenKeys(client: pg.Client, accounts: readonly number[]): Promise<string[]> {
  const keys = accounts.map(() => newApiKey('easel'))
  await client.query(
    `UPDATE api_keys SET hash = given.hash, last_used_at = now()
       FROM unnest($1::uuid[], $2::bytea[]) AS given (id, hash) WHERE api_keys.id = given.id`,
    [accounts.map(keyId), keys.map(hashApiKey)],
  )
  return keys
}

/** Generations `from` to `to` that succeeded, one a second, each charged and with an image; `account` is SQL over `n`. */
export async function givenStored(client: pg.Client, from: number, to: number, account: string): Promise<void> {
  const numbers = `FROM (SELECT n, ${account} AS a, 'gen_' || lpad(n::text, 26, '0') AS id,
    timestamptz '2020-01-01' + n * interval '1 s' AS at FROM generate_series(${from}, ${to - 1}) n) n`
  await client.query(`
    INSERT INTO generations (id, user_id, api_key_id, lane, metered, status, model_version_id, model_name, filename, prompt,
      negative_prompt, width, height, batch_size, steps, cfg_scale, sampler, seed, slugs, cost, worker, created_at,
      started_at, finished_at, deadline_at)
    SELECT id, md5('u' || a)::uuid, md5('k' || a)::uuid, 'personal', false, 'succeeded', 10, 'm', 'f',
           'a lighthouse at dusk', '', 832, 1216, 1, 30, 7, 'euler_a', 1, ARRAY[id], 1, 'w', at, at, at + interval '3 s',
           at + interval '1 hour' ${numbers};
    INSERT INTO images (slug, generation_id, idx, seed, width, height, bytes, sha256, created_at)
    SELECT id, id, 0, 1, 832, 1216, 1, 'x', at ${numbers};
    INSERT INTO credit_ledger (user_id, kind, delta, balance, generation_id, created_at)
    SELECT md5('u' || a)::uuid, 'charge', -1, 1000000, id, at ${numbers}`)
}

export const waitingId = (n: number): string => `gen_w${String(n).padStart(25, '0')}`

/** As many in the queue, of ten models and six samplers, the first one account's number `first`, and so on. */
export async function givenWaiting(
  client: pg.Client,
  count: number,
  first = 0,
  [width, height]: readonly [number, number] = [832, 1216],
): Promise<void> {
  await client.query(
    `INSERT INTO generations (id, user_id, api_key_id, lane, metered, model_version_id, model_name, filename, prompt,
       negative_prompt, width, height, batch_size, steps, cfg_scale, sampler, seed, slugs, cost, deadline_at)
     SELECT 'gen_w' || lpad(n::text, 25, '0'), md5('u' || n + ${first})::uuid, md5('k' || n + ${first})::uuid,
            CASE n % 4 WHEN 0 THEN 'create_image' ELSE 'personal' END, false, 10, 'm', ($1::text[])[1 + n % 10],
            'a lighthouse at dusk', '', ${width}, ${height} + n % 7 / 6 * 8, 1, 30, 7,
            CASE WHEN n < ${count / 2} THEN '${RARE}' ELSE ($2::text[])[1 + n % 5] END, n, ARRAY['s' || lpad(n::text, 21, '0')], 0,
            now() + interval '1 hour' FROM generate_series(0, ${count - 1}) n`,
    [MODELS, OTHERS],
  )
}
