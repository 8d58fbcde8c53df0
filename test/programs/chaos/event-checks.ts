/**
 * What only the run's own record of every change of state can tell. The record is a trigger's, in commit order for each
 * user's charged generations, and names the process whose connection made the change.
 */
import type pg from 'pg'
import type { Violation } from './history.js'

/** A custom setting that each process's connections carry; see `named`. */
const PROCESS = 'chaos.process'

const RECORD = `
  CREATE TABLE chaos_events (
    n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, generation_id text NOT NULL, user_id uuid NOT NULL,
    metered boolean NOT NULL, was text, is_now text NOT NULL, attempt integer NOT NULL, process text,
    at timestamptz NOT NULL DEFAULT clock_timestamp());
  CREATE FUNCTION chaos_record() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO chaos_events (generation_id, user_id, metered, was, is_now, attempt, process)
    VALUES (NEW.id, NEW.user_id, NEW.metered, CASE WHEN TG_OP = 'UPDATE' THEN OLD.status END, NEW.status, NEW.attempt,
            current_setting('${PROCESS}', true));
    RETURN NULL;
  END $$;
  CREATE TRIGGER chaos_record AFTER INSERT OR UPDATE OF status ON generations
    FOR EACH ROW EXECUTE FUNCTION chaos_record();
  CREATE INDEX chaos_events_generation ON chaos_events (generation_id, n);`

export const recordEvents = async (client: pg.Client): Promise<void> => void (await client.query(RECORD))

/** The URL for one process, so that the record knows it. */
export function named(url: string, process: string): string {
  const its = new URL(url)
  its.searchParams.set('options', `-c ${PROCESS}=${process}`)
  return its.href
}

const CHECKS: readonly { readonly invariant: string; readonly query: string }[] = [
  {
    invariant: 'I6',
    query: `
      SELECT generation_id || ' became active while another one of user ' || user_id || ' was' FROM (
        SELECT generation_id, user_id, was,
               sum(CASE WHEN was IS NULL THEN 1 WHEN is_now IN ('succeeded', 'failed') THEN -1 ELSE 0 END)
                 OVER (PARTITION BY user_id ORDER BY n) AS active
          FROM chaos_events WHERE NOT metered) e
       WHERE was IS NULL AND active > 1`,
  },
  {
    invariant: 'I11',
    query: `
      SELECT generation_id || ' went from ' || was || ' to ' || is_now || ' by ' || coalesce(process, 'nobody')
        FROM chaos_events WHERE was IN ('succeeded', 'failed')`,
  },
  {
    // The fence: an attempt ends well by the process that claimed it last, or not at all.
    invariant: 'I17',
    query: `
      SELECT generation_id || ' attempt ' || attempt || ' was ended by ' || coalesce(process, 'nobody') ||
             ', though it was ' || coalesce(claimant, 'nobody') || '''s'
        FROM (SELECT *, (SELECT c.process FROM chaos_events c
                          WHERE c.generation_id = e.generation_id AND c.is_now = 'processing' AND c.n < e.n
                          ORDER BY c.n DESC LIMIT 1) AS claimant
                FROM chaos_events e WHERE is_now = 'succeeded') e
       WHERE process IS DISTINCT FROM claimant`,
  },
  {
    // A request is sent again only with its key, so each prompt of ours makes one generation at most.
    invariant: 'I4',
    query: `SELECT string_agg(id, ' and ') || ' are of one request' FROM generations GROUP BY prompt HAVING count(*) > 1`,
  },
  {
    invariant: 'I15',
    query: `
      SELECT 'a connection has been idle in a transaction since ' || state_change FROM pg_stat_activity
       WHERE state LIKE 'idle in transaction%' AND state_change < now() - interval '5 seconds'`,
  },
]

export async function eventViolations(client: pg.Client): Promise<Violation[]> {
  const found: Violation[] = []
  for (const { invariant, query } of CHECKS) {
    const { rows } = await client.query<{ what: string }>(`SELECT what FROM (${query}) AS found (what) LIMIT 20`)
    found.push(...rows.map(({ what }) => ({ invariant, what })))
  }
  return found
}
