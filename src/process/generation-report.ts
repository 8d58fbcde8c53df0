/** What is told of one generation: its row, its images, its credits, its attempts and its webhooks. */
import { PARAMETER_NAMES } from '../core/generations/generation.js'
import type { operatorGenerationStore } from '../db/generations/history.js'
import { jsonOf } from '../lib/names.js'

/** How it is drawn: without the texts and the size, which have their own places. */
export const SETTINGS = PARAMETER_NAMES.filter(
  (name) => !['prompt', 'negativePrompt', 'width', 'height'].includes(name),
)

export type Found = NonNullable<Awaited<ReturnType<ReturnType<typeof operatorGenerationStore>['find']>>>

interface Attempt {
  readonly attempt: number
  readonly worker: string | null
  readonly backend: string | null
  /** In the queue before it; null where the time of its claim is not known. */
  readonly waitedMs: number | null
  readonly startedAt: Date | null
  readonly endedAt: Date | null
  /** Until now, if it still runs. */
  readonly ranMs: number | null
  readonly outcome: 'put_back' | 'running' | 'succeeded' | 'failed'
  readonly reason: string | null
  /** Whether its failure cost a try. */
  readonly countedAsTry: boolean
}

/** Claimed attempts, in order. One that an older version of Easel put back is missing. */
export function attemptsOf({ generation: g, putBack }: Found, now = new Date()): Attempt[] {
  const rows = putBack.map(({ putBackAt, counted, ...row }) => {
    return { ...row, endedAt: putBackAt, outcome: 'put_back' as const, countedAsTry: counted }
  })
  const outcome = g.status === 'processing' || g.status === 'queued' ? ('running' as const) : g.status
  const { attempt, worker, backend, claimedAt, finishedAt: endedAt, error: reason } = g
  const latest = { attempt, worker, backend, claimedAt, endedAt, outcome, reason, countedAsTry: false }
  let waitsSince = g.createdAt
  return (worker === null ? rows : [...rows, latest]).map(({ claimedAt, ...it }) => {
    const claimed = claimedAt ?? (it.attempt === 1 ? g.startedAt : null)
    // An older version leaves the time of an earlier claim.
    const startedAt = claimed && claimed >= waitsSince ? claimed : null
    const waitedMs = startedAt && startedAt.getTime() - waitsSince.getTime()
    const ranMs = startedAt && (it.endedAt ?? now).getTime() - startedAt.getTime()
    waitsSince = it.endedAt ?? now
    const { attempt, worker, backend, endedAt, outcome, reason, countedAsTry } = it
    return { attempt, worker, backend, waitedMs, startedAt, endedAt, ranMs, outcome, reason, countedAsTry }
  })
}

/** Where its submit came in. Agents count as the Personal API. */
export const interfaceOf = ({ generation, key }: Found): 'website' | 'create_image' | 'personal_api' => {
  if (key.kind === 'website') return 'website'
  return generation.lane === 'create_image' ? 'create_image' : 'personal_api'
}

/** As JSON. @param url of an image */
export function reportOf(found: Found, url: (slug: string) => string) {
  const { generation: g, username, key, images, entries, deliveries } = found
  return {
    ...{ id: g.id, status: g.status, error: g.error, username },
    key: jsonOf(key, 'id', 'kind', 'name'),
    interface: interfaceOf(found),
    request_id: g.requestId,
    trace_id: g.traceparent?.split('-')[1] ?? null,
    ...jsonOf(g, 'lane', 'metered'),
    credits_charged: g.cost,
    ...jsonOf(g, 'modelVersionId', 'modelName', 'filename', 'prompt', 'negativePrompt', 'width', 'height', 'batchSize'),
    ...jsonOf(g, ...SETTINGS, 'seed', 'attempt', 'tries', 'deaths', 'worker', 'backend'),
    ...jsonOf(g, 'createdAt', 'startedAt', 'finishedAt', 'deadlineAt', 'leaseUntil'),
    images: images.map((image) => ({
      slug: image.slug,
      url: image.removedAt ? null : url(image.slug),
      ...jsonOf(image, 'seed', 'width', 'height', 'bytes', 'sha256', 'madeWith', 'removedAt', 'removedReason'),
    })),
    ledger: entries.map((entry) => jsonOf(entry, 'kind', 'delta', 'balance', 'createdAt')),
    attempts: attemptsOf(found).map((attempt) => jsonOf(attempt)),
    // Its path may be a secret.
    webhooks: deliveries.map((delivery) => ({ ...jsonOf(delivery), url: new URL(delivery.url).origin })),
  }
}
