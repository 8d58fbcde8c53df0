/**
 * Whether the checks can see: one guard at a time is taken away, somebody does what it forbids, and the run must go
 * red; with the guard in place the same run must stay green.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { ChaosOptions } from './chaos.js'
import type { Stage } from './stage.js'

export interface Guard {
  readonly name: string
  /** Takes the guard away. */
  readonly drop: string
  /** What goes wrong meanwhile in the ordinary course; none unless given. */
  readonly run?: Partial<ChaosOptions>
  /** Does once what the guard forbids; a refusal is what it should meet. */
  readonly attack?: (client: pg.Client) => Promise<unknown>
}

/** Some generation that ended so, of those which a personal key pays for. */
const ended = (status: 'succeeded' | 'failed') =>
  `SELECT id, user_id, cost FROM generations WHERE status = '${status}' AND NOT metered ORDER BY seq LIMIT 1`

/** Any generation that ended without pictures; where none has, one is made to. */
const FAIL_ONE = `
  WITH one AS (
    UPDATE generations SET status = 'failed', error = 'Canceled.', finished_at = now(), lease_until = NULL
     WHERE id = (SELECT id FROM generations WHERE status = 'queued' AND NOT metered LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id, user_id, cost
  ), given AS (UPDATE users u SET credits = credits + one.cost FROM one WHERE u.id = one.user_id RETURNING u.id, u.credits)
  INSERT INTO credit_ledger (user_id, kind, delta, balance, generation_id)
  SELECT one.user_id, 'refund', one.cost, given.credits, one.id FROM one, given RETURNING generation_id`

/** Gives a generation's credits back once more, as a second refund would: balance and ledger agree. */
const REFUND_AGAIN = `
  WITH one AS (${ended('failed')}
  ), given AS (UPDATE users u SET credits = credits + one.cost FROM one WHERE u.id = one.user_id RETURNING u.id, u.credits)
  INSERT INTO credit_ledger (user_id, kind, delta, balance, generation_id)
  SELECT one.user_id, 'refund', one.cost, given.credits, one.id FROM one, given`

/** A generation that no GPU can serve and whose time is soon over. */
const HOPELESS = `
  INSERT INTO generations (id, user_id, api_key_id, lane, metered, model_version_id, model_name, filename, prompt,
    negative_prompt, width, height, batch_size, steps, cfg_scale, sampler, seed, slugs, cost, deadline_at)
  SELECT 'gen_' || substr(md5(id), 1, 26), user_id, api_key_id, lane, true, model_version_id, model_name, 'nobody has it', 'hopeless',
    negative_prompt, width, height, batch_size, steps, cfg_scale, sampler, seed, slugs, 0, now() + interval '3 seconds'
    FROM generations LIMIT 1`

const SQL_GUARDS: readonly Guard[] = [
  {
    name: 'one active generation per user (unique index)',
    drop: 'DROP INDEX generations_one_active',
    // Without Redis's lock only the index is left; two submits at once get past everything before it.
    run: { lanes: ['redis'], rate: 12, doubles: 0.7 },
  },
  {
    name: 'refunded once (unique generation and kind)',
    drop: 'ALTER TABLE credit_ledger DROP CONSTRAINT credit_ledger_generation_id_kind_key',
    attack: async (client) => {
      while ((await client.query(FAIL_ONE)).rowCount === 0) await delay(20)
      await client.query(REFUND_AGAIN)
    },
  },
  {
    name: 'what has ended stays so (trigger)',
    drop: 'ALTER TABLE generations DISABLE TRIGGER generations_guard',
    attack: async (client) =>
      client.query(`UPDATE generations SET status = 'queued', finished_at = NULL, attempt = attempt + 1, rung = false,
        worker = NULL, lease_until = NULL WHERE id = (SELECT id FROM (${ended('succeeded')}) one)`),
  },
  {
    name: 'the ledger is only appended to (trigger)',
    drop: 'ALTER TABLE credit_ledger DISABLE TRIGGER credit_ledger_append_only',
    attack: async (client) =>
      client.query(`DELETE FROM credit_ledger WHERE id = (SELECT max(id) FROM credit_ledger WHERE kind = 'charge')`),
  },
  {
    name: 'no balance below zero (check)',
    drop: 'ALTER TABLE users DROP CONSTRAINT users_credits_check',
    attack: async (client) =>
      client.query(`
        WITH poor AS (UPDATE users SET credits = credits - 2000000 WHERE id = (SELECT id FROM users LIMIT 1) RETURNING id, credits)
        INSERT INTO credit_ledger (user_id, kind, delta, balance, ref) SELECT id, 'grant', -2000000, credits, '${randomUUID()}' FROM poor`),
  },
  {
    name: 'a picture has one row (unique generation and place)',
    drop: 'ALTER TABLE images DROP CONSTRAINT images_generation_id_idx_key',
    attack: async (client) =>
      client.query(`
        INSERT INTO images (slug, generation_id, idx, seed, width, height, bytes, sha256)
        SELECT reverse(slug), generation_id, idx, seed, width, height, bytes, sha256 FROM images LIMIT 1`),
  },
]

/** The guards that are code, and how each can be made void from within the database. */
const CODE_GUARDS: readonly Guard[] = [
  {
    name: 'an attempt that was taken over writes nothing (the fence)',
    // The attempt's number never moves on, so that the old worker's writes still find their row.
    drop: trigger('unfenced', `NEW.attempt := OLD.attempt; RETURN NEW`),
    run: {
      ...{ forMs: 45_000, lanes: [], rate: 1, failpoints: true, stoppedForMs: [12_000, 15_000] },
      drawFailpoints: () => 'run.before_succeed=stop@0.02',
    },
  },
  {
    name: 'the reconciler takes over from lost workers',
    drop: trigger(
      'unrescued',
      `IF NEW.status = 'queued' AND OLD.lease_until < now() THEN RETURN NULL; END IF; RETURN NEW`,
    ),
    run: { forMs: 15_000, lanes: ['worker'], rate: 2, mayExpire: false },
  },
  {
    name: 'the reconciler ends what is past its deadline',
    drop: trigger('unexpired', `IF NEW.error LIKE '%deadline%' THEN RETURN NULL; END IF; RETURN NEW`),
    run: { healMs: 20_000 },
    attack: async (client) => client.query(HOPELESS),
  },
]

function trigger(name: string, body: string): string {
  return `
    CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body}; END $$;
    CREATE TRIGGER a_${name} BEFORE UPDATE ON generations FOR EACH ROW EXECUTE FUNCTION ${name}()`
}

/** Long enough for some generations to end before the attack. */
const ATTACK_AFTER_MS = 5000
const GUARD_RUN_MS = 12_000

export const GUARDS: readonly Guard[] = [...SQL_GUARDS, ...CODE_GUARDS]

type Base = Pick<ChaosOptions, 'seed' | 'say' | 'signal'>

/** A run in which this guard is gone: it must go red. */
export const withoutGuard = (guard: Guard, base: Base): ChaosOptions =>
  guardRun([guard], base, (client) => client.query(guard.drop))

/** A run in which every guard stands and everything that they forbid is tried: it must stay green. */
export const withAllGuards = (base: Base): ChaosOptions => guardRun(SQL_GUARDS, base, async () => undefined)

function guardRun(
  guards: readonly Guard[],
  base: Base,
  prepare: (client: pg.Client) => Promise<unknown>,
): ChaosOptions {
  return {
    ...{ forMs: GUARD_RUN_MS, users: 24, rate: 0, failpoints: false },
    ...Object.assign({}, ...guards.map(({ run }) => run)),
    ...base,
    sabotage: async (stage: Stage) => {
      const client = await stage.connect()
      await prepare(client)
      const attacks = async () => {
        await delay(ATTACK_AFTER_MS)
        for (const { name, attack } of guards) {
          const refused = await attack?.(client).then(
            () => 'was not refused',
            (error) => `was refused: ${error.message}`,
          )
          if (refused) base.say(`the attack on "${name}" ${refused}`)
        }
        await client.end()
      }
      // Not awaited: it happens amid the load.
      void attacks().catch(() => undefined)
    },
  }
}
