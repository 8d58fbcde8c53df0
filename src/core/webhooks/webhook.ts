import { randomBytes, randomUUID } from 'node:crypto'

/**
 * What an endpoint can get. `generation.succeeded` is the Personal API's, `image.completed` Create Image's; the last ones are
 * about no generation.
 */
export const WEBHOOK_EVENTS = [
  'generation.succeeded',
  'generation.failed',
  'image.completed',
  'credits.low',
  'subscription.changed',
] as const
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number]

/** Sent on its owner's request, whatever events the endpoint gets. */
export const TEST_EVENT = 'test'

export const MAX_ENDPOINTS = 10
/** How many origins an account's webhook_urls may name; one that was not named for a month no longer counts. */
export const MAX_ORIGINS = 50
export const ENDPOINT_ID = /^whe_[0-9a-f]{32}$/
/** For this long after a rotation the old secret signs, too. */
export const OLD_SECRET_HOURS = 24

export interface WebhookEndpoint {
  readonly id: string
  readonly url: string
  readonly description: string
  readonly events: readonly WebhookEvent[]
  readonly createdAt: Date
  readonly disabledReason: string | null
  /** After failed tries: nothing is sent before then. Null: nothing holds it back. */
  readonly pausedUntil: Date | null
}

/** One try of one event at one endpoint, claimed by this process. */
export interface ClaimedDelivery {
  readonly seq: number
  readonly eventId: string
  readonly type: WebhookEvent | typeof TEST_EVENT
  /** Null: a test, or an event that has `data`. */
  readonly generationId: string | null
  /** Of an event that is about no generation. */
  readonly data?: Readonly<Record<string, unknown>> | null
  readonly endpointId: string
  readonly accountId: string
  /** `request`: named by a request's webhook_url, and gets the events of that request alone. */
  readonly kind: 'account' | 'request'
  readonly url: string
  /** `whsec_…`; two while a rotation is young. */
  readonly secrets: readonly string[]
  readonly at: Date
  /** Tries with this one; also fences the write of its result. */
  readonly attempts: number
  readonly slot: 1 | 2
  /** Tries in a row that failed at this endpoint before this one. */
  readonly endpointFailures: number
  /** Of the generation's submit, where traces are on. */
  readonly traceparent?: string | null
}

export interface DeliveryRecord extends Pick<ClaimedDelivery, 'eventId' | 'type' | 'generationId' | 'attempts'> {
  readonly status: 'pending' | 'delivered' | 'failed'
  /** Of the last try's answer. */
  readonly lastStatus: number | null
  readonly lastError: DeliveryFault | null
  readonly createdAt: Date
  /** Never before now; null: there will be none. */
  readonly nextAt: Date | null
  readonly deliveredAt: Date | null
}

/** Why a try failed, or why there will be no other. */
export const DELIVERY_FAULTS = [
  'address_refused',
  'dns_failed',
  'connection_failed',
  'tls_failed',
  'timed_out',
  'redirected',
  'status_not_2xx',
  'endpoint_gone',
  'endpoint_ended',
  'picture_removed',
  'too_old',
] as const
export type DeliveryFault = (typeof DELIVERY_FAULTS)[number]

/** The result of one try. */
export type SendOutcome =
  | { readonly delivered: true; readonly status: number }
  | {
      readonly delivered: false
      readonly status?: number
      readonly fault: DeliveryFault
      /** From the receiver's Retry-After. */
      readonly retryAfterSeconds?: number | undefined
    }

/** In the form of Standard Webhooks: base64 after a prefix. */
export const newWebhookSecret = (): string => `whsec_${randomBytes(24).toString('base64')}`

export const newEndpointId = (): string => `whe_${plainUuid()}`
export const newEventId = (): string => `evt_${plainUuid()}`

const plainUuid = () => randomUUID().replaceAll('-', '')

/** Seconds after the 1st, 2nd, … try: over a day in all; then the delivery fails for good. */
const DELAYS = [5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800, 28_800, 28_800] as const
/** A random delay of up to this share, so that deliveries that failed together are not retried together. */
const JITTER = 0.2
/** A receiver's Retry-After counts up to this. */
const MAX_RETRY_AFTER = 28_800

/** After this many failures in a row an endpoint gets one delivery at a time, and ever more rarely. */
export const FAILING = 5
const FIRST_PAUSE = 5
const MAX_PAUSE = 300

/** Seconds until the next try; undefined: no retry. @param attempts tries so far @param random 0 to 1 */
export function retryDelay(attempts: number, retryAfterSeconds = 0, random = Math.random()): number | undefined {
  const delay = DELAYS[attempts - 1]
  return delay && Math.max(delay * (1 + JITTER * random), Math.min(retryAfterSeconds, MAX_RETRY_AFTER))
}

/** For how many seconds an endpoint gets no delivery after a failed try. @param failures in a row, with this one */
export function endpointPause(failures: number, retryAfterSeconds = 0): number {
  const pause = failures < FAILING ? 0 : FIRST_PAUSE * 2 ** Math.min(failures - FAILING, 10)
  return Math.min(Math.max(pause, retryAfterSeconds), MAX_PAUSE)
}
