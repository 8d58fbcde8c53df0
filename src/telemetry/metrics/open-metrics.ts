/** Metrics by prom-client. Only entry.ts loads this folder, and only where METRICS_PORT is set. */
import { collectDefaultMetrics, Registry } from 'prom-client'
import type { ServiceState } from '../../core/operator/overview.js'
import { snapshot } from '../../lib/snapshot.js'
import { endMetrics } from './end-metrics.js'
import { httpMetrics } from './http-metrics.js'
import { type Meters, meters } from './meters.js'
import { repairMetrics } from './repair-metrics.js'
import { runMetrics } from './run-metrics.js'
import { stateMetrics } from './state-metrics.js'
import { submitMetrics } from './submit-metrics.js'
import { webhookMetrics } from './webhook-metrics.js'

/** What the wiring wraps to be counted. No label has a user, a key, a prompt or a path. */
export type Metrics = ReturnType<typeof openMetrics>

/** Of prom-client's own: gauges that are named like counters. */
const MISNAMED = ['handles', 'requests', 'resources'].map((what) => `nodejs_active_${what}_total`)

/** A scrape uses what another has read a moment ago. */
const STATE_FRESH_MS = 1000

interface Sources {
  /** What is wrong, by check. */
  readonly problems: () => Promise<Readonly<Record<string, string | undefined>>>
  /** Rejects while Postgres is away. */
  readonly state?: () => Promise<ServiceState>
  readonly pool: { readonly totalCount: number; readonly idleCount: number; readonly waitingCount: number }
}

/** @param release the process and its version */
export function openMetrics(release: { readonly process: string; readonly version: string }) {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of MISNAMED) registry.removeSingleMetric(name)
  const own = meters(registry)
  own.gauge('build_info', 'Which program this is.', ['process', 'version']).set(release, 1)
  const ends = endMetrics(own)
  const { refused, ...submits } = submitMetrics(own, ends)
  const checks = own.gauge('check_ok', 'Whether a check of /ready finds nothing wrong.', ['check'])
  const connections = own.gauge('database_connections', 'Connections of this process to Postgres.', ['state'])
  const queries = own.gauge('database_queries_waiting', 'Queries that wait for a connection of this process.')
  const show = stateMetrics(own)
  measureLateness(own)
  let sources: Sources | undefined

  const measure = async ({ problems, state }: Sources) => {
    const [found, read] = await Promise.all([problems(), state?.().catch(() => undefined)])
    checks.reset()
    for (const [check, problem] of Object.entries(found)) checks.set({ check }, problem === undefined ? 1 : 0)
    show(read)
  }
  const measured = snapshot(async () => sources && measure(sources), { freshMs: STATE_FRESH_MS })

  return {
    contentType: registry.contentType,
    ...submits,
    requests: httpMetrics(own, refused),
    ...runMetrics(own, ends),
    repairs: repairMetrics(own, ends),
    deliveries: webhookMetrics(own),
    /** Where the gauges come from that are read at each scrape. */
    watch: (given: Sources): void => {
      sources = given
    },
    /** What a scrape gets. */
    async text(): Promise<string> {
      if (sources) {
        await measured()
        const { totalCount, idleCount, waitingCount } = sources.pool
        connections.set({ state: 'idle' }, idleCount)
        connections.set({ state: 'busy' }, totalCount - idleCount)
        queries.set(waitingCount)
      }
      return registry.metrics()
    },
  }
}

const LOOK_EVERY_MS = 200

/** Node's own histogram forgets a delay that is read right after it, and hides a long one among many short ones. */
function measureLateness({ counter }: Meters): void {
  const late = counter('event_loop_late_seconds_total', 'By how much timers came late, in all: the loop stood still.')
  let due = performance.now() + LOOK_EVERY_MS
  const look = () => {
    const now = performance.now()
    late.inc(Math.max(0, now - due) / 1000)
    due = now + LOOK_EVERY_MS
  }
  setInterval(look, LOOK_EVERY_MS).unref()
}
