import { type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/pg-core'
import type { ClaimedGeneration, PutBackReason, RunStore } from '../../core/generations/run/ports.js'
import { batched } from '../../lib/batch.js'
import type { Database } from '../client.js'
import { FINISHED, MOVED, noticeSender } from '../notifications.js'
import { apiKeys as k, users as u } from '../schema/accounts.js'
import { generations as g, putBackAttempts } from '../schema/generations.js'
import { images } from '../schema/images.js'
import { usage } from '../schema/ledger.js'
import { columns, insertInto, NOT_SYNCED, param, type RowOf, setList, statement } from '../statement.js'
import { claim, LEASE_UNTIL } from './claim.js'
import { failStatement } from './end.js'
import { noteMissingJob } from './missing-jobs.js'
import { SERVED_BY_OTHER } from './other-backends.js'

const OF_ATTEMPT = sql`${g.id} = ${param('id')} AND ${g.attempt} = ${param('attempt')} AND ${g.status} = 'processing'`

// A lease that a crash of Postgres shortens ends early: then another worker takes over, as its attempt's number allows.
const HEARTBEAT = statement('heartbeat_generation')`
  UPDATE ${g} SET ${setList(g, { leaseUntil: LEASE_UNTIL })} FROM ${NOT_SYNCED} WHERE ${OF_ATTEMPT}`

/** Of any number of attempts. It waits for nobody's lock: one that is locked would hold up the leases of the others. */
const HEARTBEATS = statement<Pick<ClaimedGeneration, 'id' | 'attempt'>>('heartbeat_generations')`
  WITH ours AS MATERIALIZED (
    SELECT ${g.id} FROM ${g} JOIN unnest(${param('ids')}::text[], ${param('attempts')}::integer[]) AS ours (id, attempt)
        ON ${g.id} = ours.id AND ${g.attempt} = ours.attempt
     WHERE ${g.status} = 'processing' FOR NO KEY UPDATE OF ${g} SKIP LOCKED
  )
  UPDATE ${g} SET ${setList(g, { leaseUntil: LEASE_UNTIL })} FROM ours, ${NOT_SYNCED} WHERE ${g.id} = ours.id
  RETURNING ${g.id}, ${g.attempt}`

const ended = alias(g, 'ended')
const image = alias(images, 'image')

// What came through the API is public: programs count on its address.
const IS_PRIVATE = sql`coalesce((SELECT ${u.newImagesPrivate} FROM ${u} WHERE ${u.id} = ${ended.userId})
  AND (SELECT ${k.kind} = 'website' FROM ${k} WHERE ${k.id} = ${ended.apiKeyId}), false)`

// Images, usage and success in one statement: all or nothing, at one time. `greatest`, because the clock of a standby
// that took over may be behind.
const SUCCEED = statement('succeed_generation')`
  WITH ended AS (
    UPDATE ${g} SET ${setList(g, {
      status: 'succeeded',
      finishedAt: sql`greatest(now(), ${g.createdAt}, ${g.startedAt})`,
      leaseUntil: null,
    })}
     WHERE ${OF_ATTEMPT}
    RETURNING ${g.id}, ${g.userId}, ${g.apiKeyId}, ${g.modelVersionId}, ${g.metered}, ${g.finishedAt}
  ), image AS (
    SELECT * FROM jsonb_populate_recordset(NULL::${images}, ${param('images')}::jsonb)
  ), shown AS (
    ${insertInto(images, {
      generationId: ended.id,
      ...columns(image, 'slug', 'idx', 'seed', 'width', 'height', 'bytes', 'sha256', 'madeWith'),
      hasThumbnail: sql`coalesce(${image.hasThumbnail}, false)`,
      createdAt: ended.finishedAt,
      isPrivate: IS_PRIVATE,
    })} FROM ended, image
  ), billed AS (
    ${insertInto(usage, {
      generationId: ended.id,
      idx: image.idx,
      ...columns(ended, 'apiKeyId', 'userId', 'modelVersionId'),
      createdAt: ended.finishedAt,
    })} FROM ended, image WHERE ended.metered
  )
  SELECT FROM ended`

const FAIL = failStatement('fail_generation', OF_ATTEMPT, sql`${param('reason')}::text`)

/** Ends an attempt and lets the generation wait for the next one. */
export const BACK_IN_QUEUE = {
  status: 'queued',
  attempt: sql`${g.attempt} + 1`,
  worker: null,
  backend: null,
  claimedAt: null,
  leaseUntil: null,
} as const

/** Keeps what the rows of `putBack` (id, attempt) had before this statement, which no part of it has changed yet. */
export const notePutBack = (putBack: string, reason: SQLWrapper | PutBackReason, counted: SQLWrapper | boolean) => sql`
  ${insertInto(putBackAttempts, {
    generationId: g.id,
    ...columns(g, 'attempt', 'worker', 'backend', 'claimedAt'),
    reason,
    counted,
  })} FROM ${sql.identifier(putBack)} AS ended CROSS JOIN LATERAL (
    SELECT * FROM ${g} WHERE ${g.id} = ended.id OFFSET 0) ${g}`

const REQUEUE = statement<{ attempt: number }>('requeue_generation')`
  WITH requeued AS (
    UPDATE ${g} SET ${setList(g, {
      ...BACK_IN_QUEUE,
      tries: sql`${g.tries} + ${param('counted')}::boolean::integer`,
      notBefore: sql`now() + make_interval(secs => ${param('delaySeconds')}::float8)`,
    })}
     WHERE ${OF_ATTEMPT}
    RETURNING ${g.id}, ${g.attempt}
  ), noted AS (${noteMissingJob('requeued')}), kept AS (
    ${notePutBack('requeued', sql`${param('reason')}::text`, sql`${param('counted')}::boolean`)}
  )
  SELECT attempt FROM requeued`

const PUT_BACKS = statement<{ count: number }>('put_backs_of_generation')`
  SELECT count(*)::integer AS count FROM ${putBackAttempts}
   WHERE ${putBackAttempts.generationId} = ${param('id')} AND ${putBackAttempts.reason} = ${param('reason')}`

const CURRENT_ATTEMPT = statement<RowOf<Pick<typeof g, 'status' | 'attempt'>>>('standing_of_generation')`
  SELECT ${g.status}, ${g.attempt} FROM ${g} WHERE ${g.id} = ${param('id')}`

/** @param leases over whose connection leases are renewed, which waits for no lock */
export function runStore(
  { pool }: Database,
  { refundFailed }: { readonly refundFailed: boolean },
  leases: Pick<Database, 'pool'> = { pool },
): RunStore {
  const notify = noticeSender({ pool })
  const currentAttempt = (id: string) => CURRENT_ATTEMPT.first(pool, { id })
  const renew = async (id: string, attempt: number) => (await HEARTBEAT.count(pool, { id, attempt })) === 1
  /** All leases that are renewed at once share a statement. What it has not renewed, another says for certain. */
  const renewed = batched(async (asked: readonly Pick<ClaimedGeneration, 'id' | 'attempt'>[]) => {
    const [ids, attempts] = [asked.map(({ id }) => id), asked.map(({ attempt }) => attempt)]
    const ours = new Map(
      (await HEARTBEATS.rows(leases.pool, { ids, attempts })).map(({ id, attempt }) => [id, attempt]),
    )
    return asked.map(({ id, attempt }) => ours.get(id) === attempt || renew(id, attempt))
  })
  /** A retried write finds no row if the first one succeeded and only its answer was lost: that counts as a success. */
  const endedAs = async ({ id, attempt }: ClaimedGeneration, status: string): Promise<boolean> => {
    const now = await currentAttempt(id)
    return now?.status === status && now.attempt === attempt
  }

  return {
    currentAttempt,

    putBacks: async (id, reason) => (await PUT_BACKS.first(pool, { id, reason }))?.count ?? 0,

    servedByOther: async (id) => (await SERVED_BY_OTHER.count(pool, { id })) === 1,

    async claim(...what) {
      const claimed = await claim(pool, ...what)
      if (claimed) notify(MOVED, claimed.id)
      return claimed
    },

    heartbeat: (id, attempt) => renewed({ id, attempt }),

    async succeed(generation, stored) {
      const { id, attempt } = generation
      const rows = stored.map(({ madeWith, hasThumbnail, ...row }, idx) => ({
        ...row,
        idx,
        [images.madeWith.name]: madeWith,
        [images.hasThumbnail.name]: hasThumbnail,
      }))
      const succeeded = await SUCCEED.count(pool, { id, attempt, images: JSON.stringify(rows) })
      if (succeeded === 1) notify(FINISHED, id)
      return succeeded === 1 || endedAs(generation, 'succeeded')
    },

    async fail(generation, reason, isRefunded = true) {
      const { id, attempt } = generation
      const failed = await FAIL.count(pool, { id, attempt, reason, refund: refundFailed && isRefunded })
      return failed === 1 || endedAs(generation, 'failed')
    },

    async requeue({ id, attempt }, { reason, countTry, delayMs }) {
      const requeue = { id, attempt, reason, counted: countTry, delaySeconds: delayMs / 1000 }
      const requeued = await REQUEUE.first(pool, requeue)
      if (requeued) notify(MOVED, id)
      return requeued?.attempt
    },
  }
}
