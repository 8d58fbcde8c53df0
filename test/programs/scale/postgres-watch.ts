/** What Postgres does while the simulation runs. */
import pg from 'pg'
import { LEASE_SECONDS } from '../../../src/core/generations/run/times.js'
import { FINISHED, MOVED, WAITING } from '../../../src/db/notifications.js'

const SAMPLE_MS = 100

interface Totals {
  readonly commits: number
  readonly walBytes: number
  readonly ended: number
  readonly begun: number
  readonly notices: number
}

export interface StatementUse {
  readonly name: string
  readonly calls: number
  readonly ms: number
}

/** Two connections of its own: one listens, one asks. */
export async function watchPostgres(url: string) {
  const [asking, listening] = [new pg.Client({ connectionString: url }), new pg.Client({ connectionString: url })]
  await Promise.all([asking.connect(), listening.connect()])
  let notices = 0
  listening.on('notification', () => notices++)
  for (const channel of [MOVED, FINISHED, WAITING]) await listening.query(`LISTEN ${channel}`)
  await asking.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements')
  const [{ pids } = { pids: [] }] = (await asking.query<{ pids: number[] }>('SELECT ARRAY[pg_backend_pid()] AS pids'))
    .rows

  const totals = async (): Promise<Totals> => {
    const { rows } = await asking.query(
      `SELECT (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())::float8 AS commits,
              pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS "walBytes",
              (SELECT count(*) FROM generations WHERE finished_at IS NOT NULL)::float8 AS ended,
              (SELECT count(*) FROM generations WHERE started_at IS NOT NULL)::float8 AS begun`,
    )
    return { ...rows[0], notices }
  }

  /** How often a connection at work was seen to wait for what; `CPU`: it did not wait. */
  const waits = new Map<string, number>()
  let oldestHeartbeat = 0
  let connections = 0
  let listeners = 0
  const sample = async () => {
    const { rows } = await asking.query<{ what: string; n: number }>(
      `SELECT coalesce(wait_event_type || ': ' || wait_event, 'CPU') AS what, count(*)::integer AS n FROM pg_stat_activity
        WHERE state = 'active' AND backend_type = 'client backend' AND pid <> ALL ($1) GROUP BY 1`,
      [pids],
    )
    for (const { what, n } of rows) waits.set(what, (waits.get(what) ?? 0) + n)
    const { rows: others } = await asking.query<{ age: number; easel: number; listening: number }>(
      `SELECT coalesce((SELECT ${LEASE_SECONDS} - extract(epoch FROM min(lease_until) - now()) FROM generations
                         WHERE status = 'processing'), 0)::float8 AS age,
              (SELECT count(*) FROM pg_stat_activity WHERE application_name = 'easel')::integer AS easel,
              (SELECT count(*) FROM pg_stat_activity WHERE application_name = 'easel listen')::integer AS listening`,
    )
    oldestHeartbeat = Math.max(oldestHeartbeat, others[0]?.age ?? 0)
    connections = Math.max(connections, others[0]?.easel ?? 0)
    listeners = Math.max(listeners, others[0]?.listening ?? 0)
  }

  return {
    /** Counts from now on; `end` resolves to what was counted. */
    async begin() {
      await asking.query('SELECT pg_stat_statements_reset()')
      const before = await totals()
      const begunAt = performance.now()
      let isOver = false
      const sampling = (async () => {
        while (!isOver) {
          await sample()
          await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS))
        }
      })()
      return {
        async end() {
          isOver = true
          await sampling
          const seconds = (performance.now() - begunAt) / 1000
          const after = await totals()
          const counted = (name: keyof Totals) => after[name] - before[name]
          return {
            ...{ seconds, oldestHeartbeat, connections, listeners, waits },
            ...{ commits: counted('commits'), walBytes: counted('walBytes'), notices: counted('notices') },
            ...{ ended: counted('ended'), begun: counted('begun') },
            statements: await dearest(asking),
          }
        },
      }
    },
    /** How many attempts were put back, by reason. */
    async putBacks(): Promise<Record<string, number>> {
      const { rows } = await asking.query<{ reason: string; n: number }>(
        'SELECT reason, count(*)::integer AS n FROM put_back_attempts GROUP BY reason',
      )
      return Object.fromEntries(rows.map(({ reason, n }) => [reason, n]))
    },
    close: () => Promise.all([asking.end(), listening.end()]),
  }
}

/** The statements that took most of the time of their connections, waits included. */
async function dearest(client: pg.Client): Promise<StatementUse[]> {
  const { rows } = await client.query<StatementUse>(
    `SELECT left(regexp_replace(query, '\\s+', ' ', 'g'), 90) AS name, calls::float8, total_exec_time AS ms
       FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_%' ORDER BY total_exec_time DESC LIMIT 12`,
  )
  return rows
}
