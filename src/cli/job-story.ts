/** What happened to a generation, from its submit to its end, for `easel jobs show`. */
import type { PutBackReason } from '../core/generations/run/ports.js'
import type { operatorGenerationStore } from '../db/generations/history.js'
import { plural } from './output.js'

type Found = NonNullable<Awaited<ReturnType<ReturnType<typeof operatorGenerationStore>['find']>>>

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

const INTERFACES = { website: 'the website', create_image: 'Create Image', personal_api: 'the Personal API' }

/** What else is put back has its word alone. */
const REASONS: { readonly [Reason in PutBackReason]?: string } = {
  unavailable: 'the GPU server could not be reached',
  busy: 'the GPU server was busy',
  auth: 'the GPU server, or a firewall before it, refused it: see the password in INFERENCE_URL',
  unusable: 'the GPU server is of another kind than INFERENCE_URL says',
  lost: 'the connection to the GPU server broke',
  timeout: 'it took longer than INFERENCE_TIMEOUT_SECONDS',
  oom: 'the GPU ran out of memory',
  backend_fault: 'the GPU server failed',
  bad_output: 'the GPU server sent no usable image',
  model_missing: 'the GPU server lacks the model',
  invalid_request: 'the GPU server refused what was asked of it',
  unsupported: 'the GPU server can not do what was asked of it',
  internal: 'the worker failed: see its log',
  store_failed: 'the images could not be stored',
  gpu_not_free: 'the GPU did not become free in time',
  worker_leaving: 'the worker was told to stop',
  lease_in_doubt: 'the worker could not reach Postgres',
  worker_lost: 'the worker died or stood still',
}

/** One line per event, in the order of their times. */
export function storyOf(found: Found, now = new Date()) {
  const { generation: g, key, images, deliveries } = found
  const attempts = attemptsOf(found, now)
  const named = key.name && ` "${key.name}"`
  const request = g.requestId ? `, request ${g.requestId}` : ''
  const events: [Date, string][] = [
    [g.createdAt, `submitted through ${INTERFACES[interfaceOf(found)]} with the ${key.kind} key${named}${request}`],
    ...creditsMoved(found, 'charge'),
  ]
  for (const it of attempts) {
    const waited = it.waitedMs === null ? '' : `, after waiting ${seconds(it.waitedMs)}`
    const ran = it.ranMs === null ? '' : ` after ${seconds(it.ranMs)}`
    if (it.startedAt)
      events.push([it.startedAt, `attempt ${it.attempt} starts on ${it.backend}, worker ${it.worker}${waited}`])
    if (!it.endedAt) events.push([now, `attempt ${it.attempt} has been running${ran.replace('after', 'for')}`])
    else if (it.outcome === 'put_back') {
      const why = REASONS[it.reason as PutBackReason] ?? it.reason
      const counted = it.countedAsTry ? '; this counts as a try' : ''
      events.push([it.endedAt, `attempt ${it.attempt} is put back${ran}: ${why}${counted}`])
    } else if (it.outcome === 'succeeded') {
      events.push([it.endedAt, `attempt ${it.attempt} succeeds${ran} with ${plural(images.length, 'image')}`])
    } else events.push([it.endedAt, `attempt ${it.attempt} fails${ran}: ${it.reason}`])
  }
  events.push(...creditsMoved(found, 'refund'))
  if (g.worker === null && g.finishedAt) events.push([g.finishedAt, `fails while it waits: ${g.error}`])
  if (g.status === 'queued') {
    const pause = g.notBefore.getTime() - now.getTime()
    events.push([now, `waits for attempt ${g.attempt}${pause > 0 ? `, for at least ${seconds(pause)} more` : ''}`])
  }
  for (const it of deliveries) {
    const answer = it.lastStatus === null ? '' : `, answered ${it.lastStatus}`
    const fault = it.lastError === null ? '' : ` (${it.lastError})`
    const tries = it.attempts === 1 ? '1 try' : `${it.attempts} tries`
    const to = `webhook ${it.type} to ${new URL(it.url).origin}`
    events.push([it.finishedAt ?? it.createdAt, `${to}: ${it.status}${fault}${answer}, ${tries}`])
  }
  for (const { slug, removedAt } of images) if (removedAt) events.push([removedAt, `image ${slug} is removed`])
  return events
    .sort(([one], [other]) => one.getTime() - other.getTime())
    .map(([time, what]) => ({ time, after: seconds(time.getTime() - g.createdAt.getTime()), what }))
}

const creditsMoved = ({ entries }: Found, of: 'charge' | 'refund') =>
  entries
    .filter(({ kind }) => kind === of)
    .map(({ createdAt, delta, balance }): [Date, string] => {
      const moved = `${plural(Math.abs(delta), 'credit')} ${of === 'charge' ? 'charged' : 'given back'}`
      return [createdAt, `${moved}, the account has ${balance}`]
    })

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`
