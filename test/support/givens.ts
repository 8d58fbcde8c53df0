/** Rows that a test starts from. */
import { randomBytes } from 'node:crypto'
import { hashApiKey, newApiKey } from '../../src/core/accounts/api-key.js'
import type { ModelVersion } from '../../src/core/catalog/model-version.js'
import { SEED_MODELS } from '../../src/core/catalog/model-version.js'
import {
  type Generation,
  type GenerationRequest,
  type Lane,
  newGeneration,
  newGenerationId,
} from '../../src/core/generations/generation.js'
import type { Database } from '../../src/db/client.js'
import { submissionStore } from '../../src/db/generations/submit/charged.js'
import { apiKeys, subscriptions, users } from '../../src/db/schema/accounts.js'
import { creditLedger } from '../../src/db/schema/ledger.js'

export interface GivenUser {
  readonly id: string
  readonly username: string
  readonly key: string
  readonly keyId: string
  readonly developer: boolean
}

export interface UserOptions {
  readonly credits?: number
  /** Null: no subscription at all. */
  readonly subscription?: { readonly status?: string; readonly plan?: string; readonly endDate?: Date } | null
  /** With a developer key instead of a personal one. */
  readonly developer?: { readonly concurrency: number }
}

const YEAR_MS = 365 * 86_400_000

export async function givenUser({ orm }: Database, options: UserOptions = {}): Promise<GivenUser> {
  const { credits = 100, subscription = {}, developer } = options
  const username = `user-${randomBytes(6).toString('hex')}`
  const [user] = await orm.insert(users).values({ username, credits }).returning({ id: users.id })
  const { id } = user as { id: string }
  if (credits > 0)
    await orm.insert(creditLedger).values({ userId: id, kind: 'grant', delta: credits, balance: credits })
  if (subscription) {
    const { status = 'active', plan = 'Pro', endDate = new Date(Date.now() + YEAR_MS) } = subscription
    await orm.insert(subscriptions).values({ userId: id, status, plan, endDate })
  }
  const { key, keyId } = await givenKey({ orm } as Database, id, developer)
  return { id, username, key, keyId, developer: developer !== undefined }
}

export async function givenKey({ orm }: Database, userId: string, developer?: { readonly concurrency: number }) {
  const key = newApiKey('easel')
  const [row] = await orm
    .insert(apiKeys)
    .values({
      userId,
      kind: developer ? 'developer' : 'personal',
      hash: hashApiKey(key),
      hint: key.slice(-4),
      ...developer,
    })
    .returning({ id: apiKeys.id })
  return { key, keyId: (row as { id: string }).id }
}

export const REQUEST: GenerationRequest = {
  prompt: 'a lighthouse at dusk',
  negativePrompt: '',
  width: 832,
  height: 1216,
  batchSize: 1,
  steps: 30,
  cfgScale: 7,
  sampler: 'euler_a',
  seed: 42,
}

export const MODEL = SEED_MODELS[0] as ModelVersion

/** A generation of the user's, not yet stored. */
export const aGeneration = (
  user: GivenUser,
  asked: Partial<GenerationRequest> &
    Pick<Generation, 'requestId'> & { readonly lane?: Lane; readonly model?: ModelVersion } = {},
): Generation => {
  const { lane = 'personal', model = MODEL, requestId, ...request } = asked
  return newGeneration(newGenerationId(), { ...REQUEST, ...request }, model, {
    accountId: user.id,
    keyId: user.keyId,
    lane,
    metered: user.developer,
    requestId,
  })
}

/** A stored, charged and queued generation. */
export async function givenGeneration(
  db: Database,
  user: GivenUser,
  asked: Parameters<typeof aGeneration>[1] & { readonly deadlineSeconds?: number } = {},
): Promise<Generation> {
  const { deadlineSeconds = 3600, ...rest } = asked
  const generation = aGeneration(user, rest)
  const stored = await submissionStore(db).insert(generation, {
    deadlineSeconds,
    idempotencyKey: undefined,
  })
  if (stored.outcome !== 'inserted') throw new Error(`the given generation was not stored: ${stored.outcome}`)
  return generation
}

export async function creditsOf({ pool }: Database, user: { readonly id: string }): Promise<number> {
  return (await pool.query('SELECT credits FROM users WHERE id = $1', [user.id])).rows[0].credits
}

/** The user's ledger as [kind, delta] pairs, oldest first, grants left out. */
export async function chargesOf({ pool }: Database, user: { readonly id: string }): Promise<[string, number][]> {
  const { rows } = await pool.query(
    `SELECT kind, delta FROM credit_ledger WHERE user_id = $1 AND kind <> 'grant' ORDER BY id`,
    [user.id],
  )
  return rows.map(({ kind, delta }) => [kind, delta])
}

export async function rowOf({ pool }: Database, generation: { readonly id: string }) {
  return (await pool.query('SELECT * FROM generations WHERE id = $1', [generation.id])).rows[0]
}

/**
 * Many queued generations of one user, straight into the table and metered, so that they may have as many as they like.
 * @returns their ids by lane, first come first
 */
export async function givenWaiting(
  { pool }: Database,
  user: GivenUser,
  counts: Readonly<Record<Lane, number>>,
): Promise<Record<Lane, string[]>> {
  const insert = async (lane: Lane): Promise<string[]> => {
    const ids = Array.from({ length: counts[lane] }, newGenerationId)
    // In parts: each statement has a time limit.
    for (let from = 0; from < ids.length; from += 5000) await insertPart(ids.slice(from, from + 5000), lane)
    return ids
  }
  const insertPart = (ids: readonly string[], lane: Lane) =>
    pool.query(
      `INSERT INTO generations (id, user_id, api_key_id, lane, metered, model_version_id, model_name, filename, prompt,
         negative_prompt, width, height, batch_size, steps, cfg_scale, sampler, seed, slugs, cost, deadline_at)
       SELECT id, $2, $3, $4, true, $5, 'm', 'f', 'p', '', 832, 1216, 1, 30, 7, 'euler_a', 1, ARRAY['s-' || id], 0,
              now() + interval '1 hour'
         FROM unnest($1::text[]) WITH ORDINALITY AS given (id, place) ORDER BY place`,
      [ids, user.id, user.keyId, lane, MODEL.id],
    )
  // One after the other, so that their places are known.
  return { personal: await insert('personal'), create_image: await insert('create_image') }
}
