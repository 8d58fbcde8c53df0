/** Lists and statistics from a standby, which never shows less than the primary had when it was asked. */
import { setTimeout as delay } from 'node:timers/promises'
import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import type pg from 'pg'
import { joined } from '../lib/batch.js'
import { createDatabase, DATABASE_TIMES, type Database, ormOn } from './client.js'
import { type Queryable, statement } from './statement.js'

/** What only reads may be asked: the primary, or a replica in front of it. */
export interface ReadDatabase {
  readonly orm: NodePgDatabase
  readonly pool: Queryable
}

/** Shorter than the primary's, which answers afterwards what the replica did not. */
const TIMES = { ...DATABASE_TIMES, statementMs: 2500, queryMs: 3000, loginMs: 1000 }
const MAX_CONNECTIONS = 8
/** ms: how long a read waits for the replica to catch up, and for how long nobody asks one that did not or has failed. */
const CATCH_UP_MS = 100
const LOOK_EVERY_MS = 5
const AVOIDED_FOR_MS = 2000

/** Where the log is; the first eight digits of its file's name are the timeline, which each failover raises. */
const WRITTEN = statement<{ lsn: string; timeline: number }>('written_lsn')`
  SELECT pg_current_wal_lsn()::text AS lsn,
         ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer AS timeline`
/**
 * Not replayed by a primary, nor by a standby of one that was replaced, whose log may be longer than ours: a standby tells its
 * timeline by what it has written to its disk since, or at the last checkpoint.
 */
const REPLAYED = `
  SELECT pg_is_in_recovery() AS standby,
         pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= $1::pg_lsn
         AND greatest((pg_control_recovery()).min_recovery_end_timeline, (pg_control_checkpoint()).timeline_id) >= $2
         AS replayed`

interface ReplicaEvents {
  /** Told each time that the primary has to answer instead; the error says why. */
  readonly onAway: (error: Error) => void
  readonly onAnswer: () => void
}

export interface ReplicaReads extends ReadDatabase {
  end(): Promise<void>
}

/**
 * Reads from the replica at `url`, and from the primary where the replica is away, too late, or fails. Before each
 * statement the primary says how far its log has been written, and the replica must have replayed it that far: whoever reads
 * finds everything that was answered before, whichever server wrote it. Reads that come at once share that question.
 */
export function replicaReads(primary: Database, url: string, { onAway, onAnswer }: ReplicaEvents): ReplicaReads {
  const replica = createDatabase(url, { maxConnections: MAX_CONNECTIONS, times: TIMES, onError: () => undefined })
  let avoidedUntil = 0
  const avoid = (error: Error) => {
    avoidedUntil = performance.now() + AVOIDED_FOR_MS
    onAway(error)
  }

  const requireCaughtUp = joined(async () => {
    const { lsn, timeline } = (await WRITTEN.first(primary.pool)) as { lsn: string; timeline: number }
    for (const end = performance.now() + CATCH_UP_MS; ; await delay(LOOK_EVERY_MS)) {
      const { rows } = await replica.pool.query<{ standby: boolean; replayed: boolean }>(REPLAYED, [lsn, timeline])
      if (rows[0]?.replayed) return
      if (!rows[0]?.standby) throw new Error('DATABASE_READ_URL leads to no standby')
      if (performance.now() > end) throw new Error('the replica is behind the primary')
    }
  })

  const query = async (config: pg.QueryConfig, values?: readonly unknown[]) => {
    if (performance.now() >= avoidedUntil)
      try {
        await requireCaughtUp(undefined)
        // Once: what a standby refuses for the sake of what it replays has the state of a row that has moved.
        const answer = await replica.pool.ask(config, values)
        onAnswer()
        return answer
      } catch (error) {
        avoid(error as Error)
      }
    return primary.pool.query(config, values)
  }
  const pool = { query }
  return { pool, orm: ormOn(pool), end: replica.pool.end }
}
