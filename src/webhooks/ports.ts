/** What webhooks ask of the outside. Interfaces only. */
import type { GenerationView } from '../generation/generation.js'
import type { Page, PageRequest } from '../page.js'
import type {
  ClaimedDelivery,
  DeliveryFault,
  DeliveryRecord,
  SendOutcome,
  WebhookEndpoint,
  WebhookEvent,
} from './webhook.js'

interface NewEndpoint {
  readonly id: string
  readonly url: string
  readonly description: string
  readonly events: readonly WebhookEvent[]
  readonly secret: string
}

/** The account's own endpoints; another account's is as absent as one that never existed. */
export interface EndpointStore {
  /** Undefined: the account has as many as it may. */
  create(accountId: string, endpoint: NewEndpoint, limit: number): Promise<WebhookEndpoint | undefined>
  /** Oldest first. */
  list(accountId: string): Promise<WebhookEndpoint[]>
  find(accountId: string, id: string): Promise<WebhookEndpoint | undefined>
  /** Ends it and what waits for it; false when there is none. */
  remove(accountId: string, id: string): Promise<boolean>
  /** The old secret signs beside the new one for so long; undefined when there is no such endpoint. */
  rotateSecret(accountId: string, id: string, secret: string, oldForHours: number): Promise<WebhookEndpoint | undefined>
  /** Queues a delivery of its own; false when there is no such endpoint or it is disabled. */
  addTest(accountId: string, id: string, eventId: string): Promise<boolean>
  /** Newest first. */
  deliveries(id: string, page: PageRequest): Promise<Page<DeliveryRecord>>
  /**
   * Makes sure that an origin may be named by webhook_url.
   * @param secret taken as the account's when it has none yet
   * @returns the account's signing secret; undefined when it would be one origin more than `limit`
   */
  admitOrigin(accountId: string, origin: string, secret: string, limit: number): Promise<string | undefined>
}

/** Deliveries, as they are worked off; Postgres is the truth about every one. */
export interface DeliveryStore {
  /**
   * Takes a delivery that is due, of the endpoint that has been for longest, at most two of each at once and one while it keeps failing, and
   * none of `exceptAccounts`. Its place comes free by itself after some seconds.
   */
  claim(exceptAccounts: readonly string[]): Promise<ClaimedDelivery | undefined>
  delivered(delivery: ClaimedDelivery, status: number): Promise<void>
  /**
   * @param retryInSeconds undefined: no other try
   * @param pauseSeconds for how long the endpoint is left alone, whatever is due
   * @returns whether the endpoint was disabled: it is gone, or has failed for days
   */
  failed(delivery: ClaimedDelivery, outcome: FailedTry): Promise<{ readonly disabled: boolean }>
  /** Ends what waits for an endpoint that is told of nothing more. */
  endWaiting(endpointId: string): Promise<void>
  /** As if it had not been claimed: this process leaves. */
  giveBack(delivery: ClaimedDelivery): Promise<void>
  /** What waits for an endpoint that has recovered need not wait any longer. */
  hurry(endpointId: string): Promise<void>
  /** Forgets what is old, gives up what waits for too long. */
  clean(): Promise<void>
}

interface FailedTry {
  readonly fault: DeliveryFault
  readonly status: number | undefined
  readonly retryInSeconds: number | undefined
  readonly pauseSeconds: number
}

/** A job says that a delivery may be due. If one is lost, the regular look finds the delivery. */
export interface WebhookJobs {
  /** Best effort, never an error. Resolves to whether the job is known to be in the queue. */
  enqueue(delivery: Pick<ClaimedDelivery, 'seq' | 'attempts'>, delayMs: number): Promise<boolean>
}

/** What an event says, read when it is sent. */
export interface WebhookSubject extends Pick<GenerationView, 'id' | 'seed' | 'slugs' | 'error' | 'createdAt'> {
  /** The first slug that was drawn for it, whether or not its image is there. */
  readonly imageId: string
  readonly batchSize: number
  readonly prompt: string
  /** As Create Image calls it; the model's own name where it has none. */
  readonly model: string
  readonly width: number
  readonly height: number
  readonly steps: number
  readonly cfgScale: number
}

export interface WebhookSubjects {
  find(generationId: string): Promise<WebhookSubject | undefined>
}

/** @returns the JSON to send, or undefined when there is nothing left to tell */
export type PayloadOf = (delivery: ClaimedDelivery) => Promise<string | undefined>

export interface WebhookSender {
  /** Posts once, to public addresses only, and follows nothing. Rejects only when `signal` aborts. */
  send(delivery: ClaimedDelivery, body: string, signal: AbortSignal): Promise<SendOutcome>
}

export interface WebhookTargets {
  /**
   * Judges an address by its spelling; what it resolves to is judged again at every connect.
   * @returns it in its normal form
   * @throws AppError invalid_request naming `parameter`
   */
  require(url: string, parameter: string): URL
}
