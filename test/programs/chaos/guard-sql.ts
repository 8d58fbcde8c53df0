/** The guards that the database itself is. */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { FORGETS_GRANTS } from '../payments/payment-checks.js'
import type { ChaosOptions } from './chaos.js'
import type { Guard, Scene } from './guard.js'
import { plantBesideActive } from './guard-probes.js'

/** Ends a queued generation as a cancel does. */
const FAIL_ONE = `
  WITH one AS (
    UPDATE generations SET status = 'failed', error = 'Canceled.', finished_at = now(), lease_until = NULL
     WHERE id = (SELECT id FROM generations WHERE status = 'queued' AND NOT metered LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id, user_id, cost
  ), given AS (
    UPDATE users u SET credits = credits + one.cost FROM one WHERE u.id = one.user_id RETURNING u.credits, u.expiring_credits)
  INSERT INTO credit_ledger (user_id, kind, delta, balance, generation_id, expiring_balance)
  SELECT one.user_id, 'refund', one.cost, given.credits, one.id, given.expiring_credits FROM one, given RETURNING generation_id`

/** Gives a generation's credits back once more, as a second refund would: balance and ledger agree. */
const REFUND_AGAIN = `
  WITH one AS (
    SELECT id, user_id, cost FROM generations WHERE status = 'failed' AND NOT metered ORDER BY seq LIMIT 1
  ), given AS (
    UPDATE users u SET credits = credits + one.cost FROM one WHERE u.id = one.user_id RETURNING u.credits, u.expiring_credits)
  INSERT INTO credit_ledger (user_id, kind, delta, balance, generation_id, expiring_balance)
  SELECT one.user_id, 'refund', one.cost, given.credits, one.id, given.expiring_credits FROM one, given`

/** A metered one, since its user may have others active. */
const REVIVE = `
  UPDATE generations SET status = 'queued', finished_at = NULL, attempt = attempt + 1, worker = NULL, lease_until = NULL
   WHERE id = (SELECT id FROM generations WHERE status = 'succeeded' AND metered ORDER BY seq LIMIT 1)`

const FORGET_CHARGE = `
  DELETE FROM credit_ledger WHERE id = (SELECT max(id) FROM credit_ledger WHERE kind = 'charge')`

const OVERDRAW = `
  WITH poor AS (
    UPDATE users SET credits = credits - 2000000 WHERE id = (SELECT id FROM users LIMIT 1) RETURNING id, credits)
  INSERT INTO credit_ledger (user_id, kind, delta, balance, ref)
  SELECT id, 'grant', -2000000, credits, '${randomUUID()}' FROM poor`

/** Balance and ledger agree. */
const GRANT_AGAIN = `
  WITH one AS (SELECT * FROM credit_ledger WHERE ref LIKE 'period:%' LIMIT 1), given AS (
    UPDATE users u SET credits = credits + one.delta, expiring_credits = expiring_credits + one.expiring_delta FROM one
     WHERE u.id = one.user_id RETURNING u.id, u.credits, u.expiring_credits)
  INSERT INTO credit_ledger (user_id, kind, delta, balance, ref, expiring_delta, expiring_balance)
  SELECT given.id, 'grant', one.delta, given.credits, one.ref, one.expiring_delta, given.expiring_credits FROM one, given`

const SHOW_TWICE = `
  INSERT INTO images (slug, generation_id, idx, seed, width, height, bytes, sha256)
  SELECT reverse(slug), generation_id, idx, seed, width, height, bytes, sha256 FROM images LIMIT 1`

/** Without Redis's lock only the index is left; two submits at once get past everything before it. */
export const TWINS: Partial<ChaosOptions> = { forMs: 20_000, lanes: ['redis'], rate: 12, doubles: 1 }

/** What only a few of the users do, one thing after the other. */
const BY_FEW: Partial<ChaosOptions> = { forMs: 20_000 }

/** Does it to the first row there is. */
const strike = async ({ client }: Scene, statement: string): Promise<void> => {
  while ((await client.query(statement)).rowCount === 0) await delay(20)
}

/** Has the provider asked for it once more, as another event about it would. */
const ASK_AGAIN = `
  UPDATE payment_objects SET due_at = now()
   WHERE id = (SELECT split_part(ref, ':', 2) FROM credit_ledger WHERE kind = 'purchase' ORDER BY id LIMIT 1)`

/** What a repeat would find is always too old. */
const FORGET_ANSWERS = `
  CREATE FUNCTION forgets_answers() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN NEW.created_at := now() - interval '25 hours'; RETURN NEW; END $$;
  CREATE TRIGGER forgets_answers BEFORE INSERT OR UPDATE ON admin_requests FOR EACH ROW EXECUTE FUNCTION forgets_answers()`

export const SQL_GUARDS: readonly Guard[] = [
  {
    name: 'one active generation per user (unique index)',
    drop: 'DROP INDEX generations_one_active',
    noticedBy: ['I6'],
    run: TWINS,
    attack: plantBesideActive,
  },
  {
    name: 'refunded once (unique generation and kind)',
    drop: 'ALTER TABLE credit_ledger DROP CONSTRAINT credit_ledger_generation_id_kind_key',
    noticedBy: ['I5'],
    attack: async (scene) => {
      await strike(scene, FAIL_ONE)
      await strike(scene, REFUND_AGAIN)
    },
  },
  {
    name: 'what has ended stays so (trigger)',
    drop: 'ALTER TABLE generations DISABLE TRIGGER generations_guard',
    noticedBy: ['I11'],
    attack: (scene) => strike(scene, REVIVE),
  },
  {
    name: 'the ledger is only appended to (trigger)',
    drop: 'ALTER TABLE credit_ledger DISABLE TRIGGER credit_ledger_append_only',
    noticedBy: ['I1', 'I3'],
    attack: (scene) => strike(scene, FORGET_CHARGE),
  },
  {
    name: 'no balance below zero (check)',
    drop: 'ALTER TABLE credit_ledger DROP CONSTRAINT credit_ledger_check',
    noticedBy: ['I2'],
    attack: (scene) => strike(scene, OVERDRAW),
  },
  {
    name: 'a period is granted once (unique reference)',
    drop: 'DROP INDEX credit_ledger_ref',
    noticedBy: ['periods'],
    attack: (scene) => strike(scene, GRANT_AGAIN),
  },
  {
    name: 'a payment is applied once (what it has brought, and unique reference)',
    drop: FORGETS_GRANTS,
    noticedBy: ['payments'],
    run: BY_FEW,
    attack: (scene) => strike(scene, ASK_AGAIN),
  },
  {
    name: 'a key is charged no more than its limit (in the statement that charges)',
    drop: 'UPDATE api_keys SET monthly_limit = NULL',
    noticedBy: ['limit'],
    run: BY_FEW,
  },
  {
    name: 'a repeat with the same Idempotency-Key of an operator does nothing (stored answer)',
    drop: FORGET_ANSWERS,
    noticedBy: ['admin'],
    run: BY_FEW,
  },
  {
    name: 'an image has one row (unique generation and place)',
    drop: 'ALTER TABLE images DROP CONSTRAINT images_generation_id_idx_key',
    noticedBy: ['I10'],
    attack: (scene) => strike(scene, SHOW_TWICE),
  },
  {
    name: 'what has ended is told by webhooks (trigger)',
    drop: 'ALTER TABLE generations DISABLE TRIGGER generations_webhooks',
    noticedBy: ['webhook'],
  },
]
