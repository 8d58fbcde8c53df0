import { randomBytes, randomUUID } from 'node:crypto'

/** What an endpoint can be told of. `generation.succeeded` is the Personal API's, `image.completed` Create Image's. */
export const WEBHOOK_EVENTS = ['generation.succeeded', 'generation.failed', 'image.completed'] as const

export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number]

/** Sent when its owner asks for it, whatever the endpoint listens to. */
export const TEST_EVENT = 'test'

export const MAX_ENDPOINTS = 10
/** Servers that an account's webhook_urls may name; one that nothing was told for a month counts no more. */
export const MAX_ORIGINS = 50
export const ENDPOINT_ID = /^whe_[0-9a-f]{32}$/
/** For so long after a rotation the old secret signs, too. */
export const OLD_SECRET_HOURS = 24

/** One address of an account that is told of its events. */
export interface WebhookEndpoint {
  readonly id: string
  readonly url: string
  readonly description: string
  readonly events: readonly WebhookEvent[]
  readonly createdAt: Date
  /** Why nothing is sent there any more; null while it is told. */
  readonly disabledReason: string | null
}

/** One try of one event at one endpoint, claimed by this process. */
export interface ClaimedDelivery {
  readonly seq: number
  readonly eventId: string
  readonly type: WebhookEvent | typeof TEST_EVENT
  /** Null: a test. */
  readonly generationId: string | null
  readonly endpointId: string
  readonly accountId: string
  /** `request`: it was named by webhook_url, and is told of that request alone. */
  readonly kind: 'account' | 'request'
  readonly url: string
  /** `whsec_…`; two while a rotation is young. */
  readonly secrets: readonly string[]
  /** When it happened. */
  readonly at: Date
  /** This one included; also the fence of its result. */
  readonly attempts: number
  readonly slot: 1 | 2
  /** Tries in a row that failed at this endpoint before this one. */
  readonly endpointFailures: number
}

/** An entry of an endpoint's log. */
export interface DeliveryRecord {
  readonly eventId: string
  readonly type: ClaimedDelivery['type']
  readonly generationId: string | null
  readonly status: 'pending' | 'delivered' | 'failed'
  readonly attempts: number
  /** HTTP's, of the last try; null when that was not answered. */
  readonly lastStatus: number | null
  readonly lastError: DeliveryFault | null
  readonly createdAt: Date
  /** Null once it has ended. */
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

/** What came of one try. */
export type SendOutcome =
  | { readonly delivered: true; readonly status: number }
  | {
      readonly delivered: false
      readonly status?: number
      readonly fault: DeliveryFault
      /** What the receiver asked for. */
      readonly retryAfterSeconds?: number
    }

const SECRET_BYTES = 24

/** As Standard Webhooks has it: base64 behind a prefix. */
export const newWebhookSecret = (): string => `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`

export const newEndpointId = (): string => `whe_${plainUuid()}`
export const newEventId = (): string => `evt_${plainUuid()}`

const plainUuid = () => randomUUID().replaceAll('-', '')
