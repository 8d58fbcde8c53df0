import type { Gauge } from 'prom-client'
import type { ServiceState } from '../../core/operator/overview.js'
import type { Meters } from './meters.js'

/** Gauges of what Postgres knows of the whole service: every server shows the same. */
export function stateMetrics({ gauge }: Meters) {
  const waiting = gauge('queue_waiting', 'Generations that wait, by model file.', ['model'])
  const oldest = gauge('queue_oldest_wait_seconds', 'How long the oldest of them waits.', ['model'])
  const running = gauge('generations_running', 'Generations that a worker has claimed.')
  const backends = gauge('backend_up', 'Whether a backend answers and its worker lives, as workers have told.', [
    'backend',
  ])
  const webhooks = gauge('webhooks_waiting', 'Webhooks that are to be delivered, now or after a pause.')
  const oldestWebhook = gauge('webhooks_oldest_wait_seconds', 'How long the oldest of them waits.')
  const violations = gauge('audit_violations', 'What the last audit found that must never be, by check.', ['invariant'])
  const audited = gauge('audit_last_timestamp_seconds', 'When the last audit ended.')
  const passed = gauge('reconciler_last_pass_timestamp_seconds', 'When a reconciler was last at work.')
  const single = [running, webhooks, oldestWebhook, audited, passed]
  const labelled: readonly Gauge<string>[] = [waiting, oldest, backends, violations]

  /** Undefined: it could not be read, and an old value would be a lie. */
  return (state: ServiceState | undefined): void => {
    for (const each of labelled) each.reset()
    // Reset, they would be 0.
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
    if (state.reconciledAt) passed.set(state.reconciledAt.getTime() / 1000)
    if (!state.audit) return
    audited.set(state.audit.finishedAt.getTime() / 1000)
    for (const { name, violations: count } of state.audit.checks) violations.set({ invariant: name }, count)
  }
}
