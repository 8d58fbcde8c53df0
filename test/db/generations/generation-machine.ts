/** Generations of a few users in Postgres, moved by the stores' own calls, and what of them can be seen. */
import { performance } from 'node:perf_hooks'
import { SAMPLERS } from '../../../src/core/generations/generation.js'
import type { ClaimedGeneration, StoredImage } from '../../../src/core/generations/run/ports.js'
import { MAX_DEATHS } from '../../../src/core/generations/run/times.js'
import type { Database } from '../../../src/db/client.js'
import { cancelStore } from '../../../src/db/generations/end.js'
import { reconcileStore } from '../../../src/db/generations/reconcile.js'
import { runStore } from '../../../src/db/generations/run.js'
import { submissionStore } from '../../../src/db/generations/submit/charged.js'
import { HOLD_CLAIMS } from '../../support/database.js'
import { aGeneration, type GivenUser, givenUser } from '../../support/givens.js'
import {
  type Answer,
  type Command,
  isActive,
  isClaimable,
  next,
  type State,
  SUBMITTED,
  type Transition,
} from './generation-model.js'

export const USERS = 2
export const WORKERS = 3
const SERVES = { models: null, samplers: SAMPLERS, maxSeed: 4294967295, sizeMultiple: 8 }
const HOUR_MS = 3_600_000

type Write =
  | { readonly do: 'heartbeat' | 'succeed' | 'fail' }
  | { readonly do: 'requeue'; readonly countTry: boolean; readonly delayed: boolean }

/** What somebody does: the worker that made the latest claim (or the one so many claims back), others to a user's latest. */
export type Step =
  | { readonly do: 'submit'; readonly user: number }
  | { readonly do: 'claim'; readonly worker: number }
  | (Write & { readonly back: number })
  | (Extract<Command, { do: keyof typeof FORCED | 'cancel' }> & { readonly user: number })
  | Extract<Command, { do: 'requeueLost' | 'failLost' | 'failExpired' }>

/** One generation as the model knows it. */
export interface Row {
  readonly id: string
  readonly user: number
  readonly state: State
}

/** What a caller was told, about each generation that the answer names. */
export type Told = ReadonlyMap<string, Answer>

/** A step that has been bound to what there is. */
export interface Call {
  readonly step: Step
  /** The only generation it may touch; undefined: whichever it applies to. */
  readonly target: string | undefined
  readonly command: Command | undefined
  readonly make: () => Promise<Told>
}

/** What Postgres shows of one generation. */
export interface Seen extends Row {
  readonly seq: number
  readonly cost: number
  readonly batchSize: number
  readonly ledger: readonly (readonly [kind: string, delta: number])[]
  readonly images: number
}

/**
 * The rows after a call, if it may be answered like this when they are what it finds; else undefined. `rows` may be one
 * user's only: a claim must then not have passed any of them over. `crowded`: a rule of the reconciler may have left out
 * what another call had locked; its next pass finds it.
 */
export function follow(
  rows: readonly Row[],
  { step, target, command }: Call,
  told: Told,
  seqOf: (id: string) => number,
  crowded: boolean,
): readonly Row[] | undefined {
  if (step.do === 'submit') {
    const [id] = told.keys()
    const active = rows.some(({ user, state }) => user === step.user && isActive(state))
    if (active === (id !== undefined)) return undefined
    return id === undefined ? rows : [...rows, { id, user: step.user, state: SUBMITTED }]
  }
  if (command === undefined) throw new Error(`${step.do} is no command`)
  const [claimed] = command.do === 'claim' ? told.keys() : []
  const after: Row[] = []
  for (const row of rows) {
    const aside = command.do === 'claim' ? row.id !== claimed : target !== undefined && row.id !== target
    if (aside) {
      const passedOver = isClaimable(row.state) && (claimed === undefined || seqOf(row.id) < seqOf(claimed))
      if (command.do === 'claim' && passedOver) return undefined
      after.push(row)
      continue
    }
    if (crowded && RULES.has(command.do) && !told.has(row.id)) {
      after.push(row)
      continue
    }
    const [state, answer] = next(row.state, command)
    if ((told.get(row.id) || false) !== (answer || false)) return undefined
    after.push({ ...row, state })
  }
  return after
}

const RULES: ReadonlySet<string> = new Set<Command['do']>(['requeueLost', 'failLost', 'failExpired'])

export interface Machine {
  /** Undefined: there is nothing that this step could be about. */
  bind(step: Step, rows: readonly Row[]): Call | undefined
  /** Makes calls at once. `gated`: all of them first run into the same locked rows, so that each finds them changed. */
  together(calls: readonly Call[], gated: boolean): Promise<Told[]>
  /** All generations of its users, and each user's credits beside what the ledger adds up to. */
  see(): Promise<{
    readonly rows: readonly Seen[]
    readonly balances: readonly { readonly credits: number; readonly moved: number }[]
  }>
  /** By generation: every change of its status or attempt so far, in order. */
  transitions(): Promise<ReadonlyMap<string, readonly Transition[]>>
}

/**
 * Records what happens to rows, also what should not, and gives leases an hour instead of seconds: a machine may be busy.
 * Call once for each database.
 */
export async function prepareForMachines({ pool }: Database): Promise<void> {
  await pool.query(`
    CREATE TABLE transitions (n bigint GENERATED ALWAYS AS IDENTITY, id text, before text, after text);
    CREATE FUNCTION record_transition() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO transitions (id, before, after)
      VALUES (NEW.id, OLD.status || ' ' || OLD.attempt, NEW.status || ' ' || NEW.attempt);
      RETURN NULL;
    END $$;
    CREATE TRIGGER transitions AFTER UPDATE ON generations FOR EACH ROW
      WHEN (OLD.status <> NEW.status OR OLD.attempt <> NEW.attempt OR OLD.finished_at IS NOT NULL)
      EXECUTE FUNCTION record_transition();
    CREATE INDEX ON transitions (id);
    CREATE FUNCTION lengthen_lease() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.lease_until := now() + interval '1 hour';
      RETURN NEW;
    END $$;
    CREATE TRIGGER lengthen_lease BEFORE UPDATE ON generations FOR EACH ROW
      WHEN (NEW.lease_until > now()) EXECUTE FUNCTION lengthen_lease()`)
}

/** New users with nothing submitted; whatever others have left active is ended. */
export async function givenMachine(db: Database, credits: number): Promise<Machine> {
  const { pool } = db
  await pool.query(
    `UPDATE generations SET status = 'failed', error = 'over', finished_at = now() WHERE status IN ('queued', 'processing')`,
  )
  const users = await Promise.all(Array.from({ length: USERS }, () => givenUser(db, { credits })))
  const userIds = users.map(({ id }) => id)
  const claims: ClaimedGeneration[] = []
  const runs = runStore(db, { refundFailed: true })
  const reconciler = reconcileStore(db, { refundFailed: true })

  const submit = async (user: GivenUser): Promise<Told> => {
    const generation = aGeneration(user, { batchSize: 2 })
    const stored = await submissionStore(db).insert(generation, {
      deadlineSeconds: 3600,
      idempotencyKey: undefined,
    })
    if (stored.outcome === 'inserted') return new Map([[generation.id, true]])
    if (stored.outcome !== 'active') throw new Error(`a submit was answered with ${stored.outcome}`)
    return new Map()
  }

  const claim = async (worker: number): Promise<Told> => {
    const claimed = await runs.claim({ worker: `w${worker}`, backend: 'b' }, SERVES)
    if (!claimed) return new Map()
    claims.unshift(claimed)
    return new Map([[claimed.id, true]])
  }

  const write = async (by: ClaimedGeneration, what: Write): Promise<Answer> => {
    if (what.do === 'requeue')
      return runs.requeue(by, { reason: 'internal', countTry: what.countTry, delayMs: what.delayed ? HOUR_MS : 0 })
    if (what.do === 'heartbeat') return runs.heartbeat(by.id, by.attempt)
    return what.do === 'succeed' ? runs.succeed(by, imagesOf(by)) : runs.fail(by, 'It failed.')
  }

  const force = async (id: string, set: string): Promise<Told> => {
    await pool.query(`UPDATE generations g SET ${set}`, [id])
    return new Map()
  }

  const bind = (step: Step, rows: readonly Row[]): Call | undefined => {
    if (step.do === 'submit') {
      const user = users[step.user] as GivenUser
      return { step, target: undefined, command: undefined, make: () => submit(user) }
    }
    if (step.do === 'claim') {
      return { step, target: undefined, command: { do: 'claim' }, make: () => claim(step.worker) }
    }
    if ('back' in step) {
      const by = claims[step.back]
      if (!by) return undefined
      const make = async () => new Map([[by.id, await write(by, step)]])
      return { step, target: by.id, command: { ...step, attempt: by.attempt }, make }
    }
    const bound = (target: string | undefined, make: () => Promise<Told>): Call => ({
      step,
      target,
      command: step,
      make,
    })
    if (!('user' in step)) {
      const rule = step.do
      if (rule === 'requeueLost')
        return bound(undefined, async () => new Map((await reconciler.requeueLost()).map((it) => [it.id, it.attempt])))
      return bound(undefined, async () => new Map((await reconciler[rule]()).map(({ id }) => [id, true])))
    }
    const id = rows.findLast(({ user }) => user === step.user)?.id
    if (id === undefined) return undefined
    if (step.do === 'cancel') {
      const { onlyQueued } = step
      const cancel = async () => (await cancelStore(db).cancel(id, 'Canceled.', { onlyQueued })) !== undefined
      return bound(id, async () => new Map([[id, await cancel()]]))
    }
    return bound(id, () => force(id, FORCED[step.do]))
  }

  return {
    bind,

    async together(calls, gated) {
      if (!gated) return Promise.all(calls.map(({ make }) => make()))
      const gate = await pool.connect()
      try {
        await gate.query(`BEGIN; ${HOLD_CLAIMS}`)
        await gate.query(`SELECT FROM users WHERE id = ANY ($1::uuid[]) FOR UPDATE`, [userIds])
        await gate.query(`SELECT FROM generations WHERE user_id = ANY ($1::uuid[]) FOR UPDATE`, [userIds])
        let settled = 0
        const made = calls.map(({ make }) => make().finally(() => settled++))
        const all = Promise.all(made)
        all.catch(() => undefined)
        for (const end = performance.now() + 1000; performance.now() < end; ) {
          const { rows } = await pool.query(WAITING)
          if (rows[0].n + settled >= calls.length) break
        }
        await gate.query('COMMIT')
        return await all
      } finally {
        gate.release()
      }
    },

    async see() {
      const { rows } = await pool.query({ ...SEE, values: [userIds] })
      return {
        rows: rows.flatMap(
          ({ place, credits: _credits, moved: _moved, id, seq, cost, batchSize, ledger, images, ...state }) =>
            id === null ? [] : [{ user: place - 1, id, seq, cost, batchSize, images, state, ledger: ledger ?? [] }],
        ),
        balances: userIds.map((_, user) => {
          const { credits, moved } = rows.find(({ place }) => place === user + 1)
          return { credits, moved }
        }),
      }
    },

    async transitions() {
      const made = new Map<string, Transition[]>()
      const { rows } = await pool.query(
        `SELECT t.id, before, after FROM transitions t JOIN generations USING (id)
          WHERE user_id = ANY ($1::uuid[]) ORDER BY n`,
        [userIds],
      )
      for (const { id, before, after } of rows) made.set(id, [...(made.get(id) ?? []), [before, after]])
      return made
    },
  }
}

// None of these may lock a row that is and stays claimable: a claim would pass it over.
const FORCED = {
  'lose the worker': `lease_until = now() - interval '1 second' WHERE g.id = $1 AND g.status = 'processing'`,
  'pass the deadline': `deadline_at = now() - interval '1 second'
    WHERE g.id = $1 AND g.status IN ('queued', 'processing')`,
  'leave one death': `deaths = greatest(g.deaths, ${MAX_DEATHS - 1}) WHERE g.id = $1 AND g.status = 'processing'`,
  'end the delay': `not_before = now()
    WHERE g.id = $1 AND g.status = 'queued' AND not_before > now()`,
} as const

const WAITING = {
  name: 'waiting_for_locks',
  text: `SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
}

const SEE = {
  name: 'see_generations',
  text: `
    SELECT owner.place, u.credits, balance.moved,
           g.id, g.seq, g.cost, g.batch_size AS "batchSize",
           g.status, g.attempt, g.tries, g.deaths, g.started_at IS NOT NULL AS started,
           CASE WHEN g.lease_until IS NULL THEN 'none' WHEN g.lease_until < now() THEN 'over' ELSE 'held' END AS lease,
           g.not_before > now() AS delayed, g.deadline_at <= now() AS "pastDeadline",
           (SELECT json_agg(json_build_array(l.kind, l.delta) ORDER BY l.id) FROM credit_ledger l
             WHERE l.generation_id = g.id) AS ledger,
           (SELECT count(*) FROM images i WHERE i.generation_id = g.id) AS images
      FROM unnest($1::uuid[]) WITH ORDINALITY AS owner (id, place) JOIN users u ON u.id = owner.id
           CROSS JOIN LATERAL (SELECT sum(delta)::bigint AS moved FROM credit_ledger WHERE user_id = u.id) balance
           LEFT JOIN generations g ON g.user_id = u.id
     ORDER BY g.seq`,
}

const imagesOf = ({ slugs, seed, width, height }: ClaimedGeneration): StoredImage[] =>
  slugs.map((slug, i) => ({ slug, seed: seed + i, width, height, bytes: 1, sha256: 'x' }))
