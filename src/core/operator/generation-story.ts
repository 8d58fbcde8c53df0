/** All that is kept of one generation, and what happened to it: for operators. */
import type { ApiKeyKind } from '../accounts/account.js'
import type { LedgerEntry } from '../accounts/ledger.js'
import { type Generation, type GenerationStatus, PARAMETER_NAMES, type Stored } from '../generations/generation.js'
import type { MadeWith } from '../generations/run/backend.js'
import type { PutBackReason } from '../generations/run/ports.js'
import type { DeliveryRecord } from '../webhooks/webhook.js'

/** How it is drawn: without the texts and the size, which have their own places. */
export const SETTINGS = PARAMETER_NAMES.filter(
  (name) => !['prompt', 'negativePrompt', 'width', 'height'].includes(name),
)

/** A generation's row, as operators see it: with the prompt, without what is asked of its webhook. */
export interface RecordedGeneration extends Stored<Omit<Generation, 'accountId' | 'keyId' | 'slugs' | 'webhookUrl'>> {
  readonly status: GenerationStatus
  readonly error: string | null
  readonly attempt: number
  /** How many attempts failed by its own fault, and how many ended with their worker. */
  readonly tries: number
  readonly deaths: number
  /** Of the latest attempt; null before the first one. */
  readonly worker: string | null
  readonly backend: string | null
  readonly claimedAt: Date | null
  /** It is not claimed before. */
  readonly notBefore: Date
  readonly leaseUntil: Date | null
  readonly createdAt: Date
  /** Of the first attempt. */
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
  readonly deadlineAt: Date
}

export interface RecordedImage {
  readonly slug: string
  /** Its place in the batch, from 0. */
  readonly idx: number
  readonly seed: number
  readonly width: number
  readonly height: number
  readonly bytes: number
  readonly sha256: string
  readonly hasThumbnail: boolean
  readonly madeWith: MadeWith | null
  readonly removedAt: Date | null
  readonly removedReason: string | null
}

interface PutBackAttempt {
  readonly attempt: number
  readonly worker: string | null
  readonly backend: string | null
  readonly claimedAt: Date | null
  readonly putBackAt: Date
  readonly reason: PutBackReason
  /** Whether it cost a try. */
  readonly counted: boolean
}

/** Its path may be a secret: only the origin is for people to read. */
interface RecordedDelivery
  extends Pick<DeliveryRecord, 'type' | 'status' | 'attempts' | 'lastStatus' | 'lastError' | 'createdAt'> {
  readonly endpointId: string
  readonly url: string
  readonly finishedAt: Date | null
}

export interface GenerationRecord {
  readonly generation: RecordedGeneration
  readonly username: string
  readonly key: { readonly id: string; readonly kind: ApiKeyKind; readonly name: string }
  readonly images: readonly RecordedImage[]
  /** The charge, and what was given back. */
  readonly entries: readonly Pick<LedgerEntry, 'kind' | 'delta' | 'balance' | 'createdAt'>[]
  readonly putBack: readonly PutBackAttempt[]
  readonly deliveries: readonly RecordedDelivery[]
}

export interface Attempt {
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
export function attemptsOf({ generation: g, putBack }: GenerationRecord, now = new Date()): Attempt[] {
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
export const interfaceOf = ({ generation, key }: GenerationRecord): 'website' | 'create_image' | 'personal_api' => {
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

/** Something that happened to a generation. */
export interface StoryEvent {
  readonly at: Date
  readonly what: string
}

/** What happened to it, in the order of the times. @param now for what goes on */
export function storyOf(record: GenerationRecord, now = new Date()): readonly StoryEvent[] {
  const { generation: g, key, images, deliveries } = record
  const attempts = attemptsOf(record, now)
  const named = key.name && ` "${key.name}"`
  const request = g.requestId ? `, request ${g.requestId}` : ''
  const events: [Date, string][] = [
    [g.createdAt, `submitted through ${INTERFACES[interfaceOf(record)]} with the ${key.kind} key${named}${request}`],
    ...creditsMoved(record, 'charge'),
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
  events.push(...creditsMoved(record, 'refund'))
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
  for (const { idx, removedAt } of images) if (removedAt) events.push([removedAt, `image ${idx + 1} is removed`])
  return events.sort(([one], [other]) => one.getTime() - other.getTime()).map(([at, what]) => ({ at, what }))
}

const creditsMoved = ({ entries }: GenerationRecord, of: 'charge' | 'refund') =>
  entries
    .filter(({ kind }) => kind === of)
    .map(({ createdAt, delta, balance }): [Date, string] => {
      const moved = `${plural(Math.abs(delta), 'credit')} ${of === 'charge' ? 'charged' : 'given back'}`
      return [createdAt, `${moved}, the account has ${balance}`]
    })

const plural = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? '' : 's'}`

/** `1.2 s`. */
export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

/** How a server was asked for the images, and with which definition of the model. */
export const madeWithOf = ({ backend, version, sampler, scheduler, definition }: MadeWith): string =>
  [
    [backend, version].filter(Boolean).join(' '),
    [sampler, scheduler].filter(Boolean).join(' with '),
    definition && `${definition.name} (SHA-256 ${definition.hash})`,
  ]
    .filter(Boolean)
    .join(', ')
