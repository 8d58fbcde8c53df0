/** Metrics by prom-client. Only run-process.ts loads this folder, and only where METRICS_PORT is set. */
import { collectDefaultMetrics, type Gauge, Registry } from 'prom-client'
import type { PaymentReceiver } from '../../core/billing/receive.js'
import type { ServiceState } from '../../core/operator/overview.js'
import type { DeliveryStore } from '../../core/webhooks/ports.js'
import { snapshot } from '../../lib/batch.js'
import { endMetrics, repairMetrics, runMetrics } from './generation-metrics.js'
import { type Meters, meters } from './meters.js'
import { httpMetrics, submitMetrics } from './submit-metrics.js'

/** What the wiring wraps to be counted. No label has a user, a key, a prompt or a path. */
export type Metrics = ReturnType<typeof openMetrics>

/** Of prom-client's own: gauges that are named like counters. */
const MISNAMED = ['handles', 'requests', 'resources'].map((what) => `nodejs_active_${what}_total`)

/** Scrapes within this time share one reading. */
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
    payments: paymentMetrics(own),
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

/** Gauges of what Postgres knows of the whole service: every server shows the same. */
function stateMetrics({ gauge }: Meters) {
  const waiting = gauge('queue_waiting', 'Generations that wait, by model file.', ['model'])
  const oldest = gauge('queue_oldest_wait_seconds', 'How long the oldest of them waits.', ['model'])
  const running = gauge('generations_running', 'Generations that a worker has claimed.')
  const backends = gauge('backend_up', 'Whether a backend answers and its worker lives, as workers have told.', [
    'backend',
  ])
  const webhooks = gauge('webhooks_waiting', 'Webhooks that are to be delivered, now or after a pause.')
  const oldestWebhook = gauge('webhooks_oldest_wait_seconds', 'How long the oldest of them waits.')
  const unmatched = gauge(
    'payments_unmatched',
    'What was paid and needs an operator: payments, subscriptions, cancellations.',
  )
  const reported = gauge('reported_images', 'Images with reports of visitors that no operator has answered.')
  const oldestReport = gauge('reported_images_oldest_seconds', 'How long the oldest of these reports is open.')
  const violations = gauge('audit_violations', 'What the last audit found that must never be, by check.', ['invariant'])
  const audited = gauge('audit_last_timestamp_seconds', 'When the last audit ended.')
  const passed = gauge('reconciler_last_pass_timestamp_seconds', 'When a reconciler was last at work.')
  const single = [running, webhooks, oldestWebhook, unmatched, reported, oldestReport, audited, passed]
  const labelled: readonly Gauge<string>[] = [waiting, oldest, backends, violations]

  /** @param state undefined if it could not be read: the gauges then show nothing, since old values would be wrong */
  return (state: ServiceState | undefined): void => {
    for (const each of labelled) each.reset()
    // `reset` would set these to 0.
    for (const each of single) each.remove()
    if (!state) return
    for (const { model, count, oldestSeconds } of state.queue) {
      waiting.set({ model }, count)
      oldest.set({ model }, oldestSeconds)
    }
    running.set(state.running)
    for (const { name, up } of state.backends) backends.set({ backend: name }, up ? 1 : 0)
    webhooks.set(state.webhooks.count)
    oldestWebhook.set(state.webhooks.oldestSeconds)
    unmatched.set(state.unmatchedPayments)
    reported.set(state.reported.count)
    oldestReport.set(state.reported.oldestSeconds)
    if (state.reconciledAt) passed.set(state.reconciledAt.getTime() / 1000)
    if (!state.audit) return
    audited.set(state.audit.finishedAt.getTime() / 1000)
    for (const { name, violations: count } of state.audit.checks) violations.set({ invariant: name }, count)
  }
}

const RESULTS = ['delivered', 'retried', 'given_up']

/** The tries to deliver webhooks. */
function webhookMetrics({ counter }: Meters) {
  const tries = counter('webhook_tries_total', 'Tries to deliver a webhook, by result.', ['result'], RESULTS)

  return (deliveries: DeliveryStore): DeliveryStore => ({
    ...deliveries,
    async delivered(...given) {
      await deliveries.delivered(...given)
      tries.inc({ result: 'delivered' })
    },
    async failed(delivery, outcome) {
      const failed = await deliveries.failed(delivery, outcome)
      tries.inc({ result: outcome.retryInSeconds === undefined ? 'given_up' : 'retried' })
      return failed
    },
  })
}

const RECEIVED = ['stored', 'repeated', 'unusable', 'refused']

/** What came as an event of the payment provider. */
function paymentMetrics({ counter }: Meters) {
  const events = counter('payment_events_total', 'Events of the payment provider, by result.', ['result'], RECEIVED)

  return (receiver: PaymentReceiver): PaymentReceiver => ({
    mayBeSigned(signature) {
      const maybe = receiver.mayBeSigned(signature)
      if (!maybe) events.inc({ result: 'refused' })
      return maybe
    },
    async receive(...given) {
      const result = await receiver.receive(...given)
      events.inc({ result })
      return result
    },
  })
}
