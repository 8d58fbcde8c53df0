/** A history of generations, each known by its number: which account's it is, when it was submitted, and what it is made of. */
import { createHash } from 'node:crypto'
import { SEED_MODELS } from '../../../src/core/catalog/model-version.js'

export interface History {
  readonly generations: number
  readonly accounts: number
  /** In microseconds since 1970: when the first one was submitted, and how long after it the next one was. */
  readonly startUs: number
  readonly stepUs: number
  /** In order; `month` is undefined for the part that stays live. */
  readonly parts: readonly Part[]
}

export interface Part {
  readonly month: string | undefined
  readonly from: number
  /** The first one that is no longer of it. */
  readonly to: number
}

/** Of the account's generations before it and of this one. */
const PATTERN = 330
const GRANTED = 1_000_000

/** One account in ten has a key whose images are counted and not charged. */
export const isMetered = (account: number): boolean => account % 10 === 0
export const storedId = (n: number): string => `gen_${createHash('md5').update(`g${n}`).digest('hex').slice(0, 26)}`

/**
 * @param months how many it has, this one included
 * @param liveMonths how many whole months before this one are in the live tables
 */
export function historyOf(
  { generations, accounts, months }: Pick<History, 'generations' | 'accounts'> & { readonly months: number },
  liveMonths: number,
  now = new Date(),
): History {
  const monthAt = (before: number) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - before)
  const startUs = monthAt(months - 1) * 1000
  // What is submitted from now on comes after all of these have ended.
  const stepUs = Math.floor(((now.getTime() - 3_600_000) * 1000 - startUs) / generations)
  const numberAt = (ms: number) => Math.ceil((ms * 1000 - startUs) / stepUs)
  const parts: Part[] = []
  for (let before = months - 1; before > liveMonths; before--)
    parts.push({
      month: new Date(monthAt(before)).toISOString().slice(0, 10),
      from: numberAt(monthAt(before)),
      to: numberAt(monthAt(before - 1)),
    })
  parts.push({ month: undefined, from: parts.at(-1)?.to ?? 0, to: generations })
  return { generations, accounts, startUs, stepUs, parts }
}

/**
 * Tables that the statements below read, and that are dropped when all is filled: what prompts are made of, and what each of an
 * account's generations costs. 3 % fail, 1.3 images are asked for on average.
 */
export function preparation(parts: readonly string[]): { readonly text: string; readonly values: unknown[] }[] {
  const pattern = `
    CREATE TABLE growth_pattern AS
    SELECT r, batch, failed, sum(CASE WHEN failed THEN 0 ELSE batch END) OVER (ORDER BY r) - CASE WHEN failed THEN 0 ELSE batch END AS before,
           sum(CASE WHEN failed THEN 0 ELSE batch END) OVER () AS total
      FROM (SELECT r, CASE r % 10 WHEN 3 THEN 2 WHEN 7 THEN 3 ELSE 1 END AS batch, r % 33 = 5 AS failed
              FROM generate_series(0, ${PATTERN - 1}) r) r`
  const prompts = `
    CREATE TABLE growth_prompts AS SELECT place - 1 AS place, text FROM unnest($1::text[]) WITH ORDINALITY AS given (text, place)`
  return [
    { text: pattern, values: [] },
    { text: prompts, values: [parts] },
    { text: 'ANALYZE growth_pattern, growth_prompts', values: [] },
  ]
}
export const CLEANING = 'DROP TABLE IF EXISTS growth_pattern, growth_prompts'

/** How much an account has spent on its first `k` generations. */
const phase = (a: string) => `${a} * 7 % ${PATTERN}`
const spent = (k: string, a: string, at: string, first: string) =>
  `(${k} + ${phase(a)}) / ${PATTERN} * ${at}.total + ${at}.before - ${first}.before`

const HASH = '(hashint8(n) & 2147483647)'

/** The generations of a part, as SQL to select from. */
function rowsOf({ accounts, startUs, stepUs }: History, { from, to }: Part): string {
  const [a, k] = [`n % ${accounts}`, `n / ${accounts}`]
  const submitted = `timestamptz 'epoch' + (${startUs} + n * ${stepUs}) * interval '1 microsecond'`
  return `(
    SELECT n, a, md5('u' || a)::uuid AS user_id, md5('k' || a)::uuid AS key_id,
           'gen_' || substr(md5('g' || n), 1, 26) AS id, ${HASH} AS hash, a % 10 = 0 AS metered, p.batch, p.failed, at,
           at + (1 + n % 7) * interval '1 s' AS started, at + (5 + n % 7 + n % 23) * interval '1 s' AS ended,
           n % 97 = 11 AS again, CASE WHEN a % 10 = 0 THEN 0 ELSE p.batch END AS cost, ${GRANTED} - (${spent('k', 'a', 'p', 'f')}) AS balance
      FROM (SELECT n, ${a} AS a, ${k} AS k, ${submitted} AS at FROM generate_series(${from}::bigint, ${to - 1}) n) n
      JOIN growth_pattern p ON p.r = (k + ${phase('a')}) % ${PATTERN} JOIN growth_pattern f ON f.r = ${phase('a')}) g`
}

/** Of image `idx` of generation `n`. */
const SLUG = `substr(md5('s' || n || '-' || idx), 1, 22)`
const SIZE = [832, 1216]
const SEEDS = 4_294_967_296
const MADE_WITH = `'{"backend": "a1111", "version": "v1.10.1", "sampler": "Euler a", "scheduler": "Automatic"}'`

export interface ImageFile {
  readonly bytes: number
  readonly sha256: string
}

/**
 * The statements that store a part, without triggers.
 * @param file what all images are; without one each has a hash of its own
 */
export function storing(history: History, part: Part, file?: ImageFile): string[] {
  const rows = rowsOf(history, part)
  const table = (name: string) => (part.month ? `${name}_${part.month.slice(0, 7).replace('-', '_')}` : name)
  const month = part.month ? `date '${part.month}'` : 'NULL::date'
  // The first entries are the grants.
  const entry = `${history.accounts} + 1 + n * 2`
  const models = SEED_MODELS.map((it, place) => `(${place}, ${it.id}, '${it.modelName}', '${it.filename}')`)
  const image = file ? `${file.bytes}, '${file.sha256}'` : `1200000 + hash % 400000, md5('a' || n) || md5('b' || n)`
  return [
    `INSERT INTO ${table('generations')} (id, seq, user_id, api_key_id, lane, metered, status, model_version_id, model_name, filename,
       prompt, negative_prompt, width, height, batch_size, steps, cfg_scale, sampler, seed, slugs, cost, request_id, attempt, tries, deaths,
       not_before, worker, backend, claimed_at, error, created_at, started_at, finished_at, deadline_at, month)
     SELECT g.id, g.n + 1, user_id, key_id, CASE WHEN metered THEN 'create_image' ELSE 'personal' END, metered,
            CASE WHEN failed THEN 'failed' ELSE 'succeeded' END, m.id, m.name, m.file, one.text || ', ' || other.text,
            'blurry, low quality, watermark', ${SIZE}, batch, 30, 7, 'euler_a', hash,
            ARRAY(SELECT ${SLUG} FROM generate_series(0, batch - 1) idx), cost, md5('r' || n), 1 + again::integer, again::integer, 0, at,
            'worker-' || n % 4, 'gpu-' || n % 8, started, CASE WHEN failed THEN 'The GPU server refused the request.' END, at, started, ended,
            at + interval '1 hour', ${month}
       FROM ${rows} JOIN growth_prompts one ON one.place = hash % ${PROMPT_PARTS}
       JOIN growth_prompts other ON other.place = hash / ${PROMPT_PARTS} % ${PROMPT_PARTS}
       JOIN (VALUES ${models}) AS m (place, id, name, file) ON m.place = hash % ${models.length}`,
    `INSERT INTO ${table('images')} (slug, generation_id, idx, seed, width, height, bytes, sha256, made_with, created_at,
       has_thumbnail, private, link_revocations, month)
     SELECT ${SLUG}, id, idx, (hash + idx) % ${SEEDS}, ${SIZE}, ${image}, ${MADE_WITH}, ended, false, false, 0, ${month}
       FROM ${rows}, generate_series(0, batch - 1) idx WHERE NOT failed`,
    `INSERT INTO ${table('credit_ledger')} (id, user_id, kind, delta, balance, generation_id, created_at,
       expiring_delta, expiring_balance, month)
     SELECT ${entry}, user_id, 'charge', -cost, balance - cost, id, at, 0, 0, ${month} FROM ${rows} WHERE NOT metered
     UNION ALL
     SELECT ${entry} + 1, user_id, 'refund', cost, balance, id, ended, 0, 0, ${month} FROM ${rows} WHERE NOT metered AND failed`,
    `INSERT INTO ${table('usage')} (generation_id, idx, api_key_id, user_id, model_version_id, created_at, month)
     SELECT id, idx, key_id, user_id, (ARRAY[${SEED_MODELS.map((it) => it.id)}])[1 + hash % ${models.length}], ended, ${month}
       FROM ${rows}, generate_series(0, batch - 1) idx WHERE NOT failed AND metered`,
    `INSERT INTO ${table('put_back_attempts')} (generation_id, attempt, worker, backend, claimed_at, put_back_at, reason, counted, month)
     SELECT id, 1, 'worker-' || n % 4, 'gpu-' || n % 8, started, started + interval '1 s', 'internal', true, ${month}
       FROM ${rows} WHERE again`,
  ]
}

/** The accounts with their keys, subscriptions and grants, and how far the audit has come, as if it had looked at all. */
export function storingAccounts({ accounts, generations, startUs }: History): string[] {
  const count = `(${generations} - a + ${accounts} - 1) / ${accounts}`
  const since = `timestamptz 'epoch' + ${startUs} * interval '1 microsecond' - interval '1 day'`
  const numbers = `FROM generate_series(0, ${accounts - 1}) a`
  const entries = accounts + 1 + generations * 2
  return [
    `INSERT INTO users (id, username, credits, created_at)
     SELECT md5('u' || a)::uuid, 'u' || a, ${GRANTED} - CASE WHEN a % 10 = 0 THEN 0 ELSE ${spent('k', 'a', 'p', 'f')} END, ${since}
       FROM (SELECT a, ${count} AS k ${numbers}) a
       JOIN growth_pattern p ON p.r = (k + ${phase('a')}) % ${PATTERN} JOIN growth_pattern f ON f.r = ${phase('a')}`,
    `INSERT INTO api_keys (id, user_id, kind, hash, hint, created_at)
     SELECT md5('k' || a)::uuid, md5('u' || a)::uuid, CASE WHEN a % 10 = 0 THEN 'developer' ELSE 'personal' END, sha256(a::text::bytea), 'h',
            ${since} ${numbers}`,
    `INSERT INTO subscriptions (user_id, status, plan, end_date, started_at, check_at)
     SELECT md5('u' || a)::uuid, 'active', 'Pro', now() + interval '1 year', ${since}, NULL ${numbers}`,
    `INSERT INTO credit_ledger (id, user_id, kind, delta, balance, created_at, expiring_balance)
     SELECT a + 1, md5('u' || a)::uuid, 'grant', ${GRANTED}, ${GRANTED}, ${since}, 0 ${numbers}`,
    `SELECT setval('generations_seq_seq', ${generations + 1}), setval('credit_ledger_id_seq', ${entries})`,
    `UPDATE audit_progress SET seq = ${generations + 1}, ledger_id = ${entries}`,
  ]
}

/** Two of these are a prompt. */
export const PROMPT_PARTS = 8192
const WORDS =
  'lighthouse dusk harbour storm glass forest lantern river copper winter orchard marble velvet canyon sparrow engine temple mist ' +
  'silver garden violin desert comet bridge ivory meadow falcon cathedral neon market willow tide amber castle drifting quiet ancient ' +
  'golden broken distant crowded frozen painted hidden burning gentle towering woven luminous weathered solitary cinematic detailed ' +
  'watercolour engraving portrait panorama macro backlit overcast symmetrical'

/** 50 to 200 letters each. */
export function promptParts(): string[] {
  const words = WORDS.split(' ')
  let state = 1
  const random = (below: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 8) % below
  }
  return Array.from({ length: PROMPT_PARTS }, () => {
    const length = 50 + random(140)
    const chosen: string[] = []
    while (chosen.join(' ').length < length) chosen.push(words[random(words.length)] as string)
    return chosen
      .join(' ')
      .slice(0, length + 10)
      .trim()
  })
}
