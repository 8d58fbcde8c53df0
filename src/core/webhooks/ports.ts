import type { Page, PageRequest } from '../../lib/page.js'
import type { Generation, GenerationView } from '../generations/generation.js'
import type { ClaimedDelivery, DeliveryFault, DeliveryRecord, SendOutcome, WebhookEndpoint } from './webhook.js'

type NewEndpoint = Pick<WebhookEndpoint, 'id' | 'url' | 'description' | 'events'> & { readonly secret: string }

/** The account's own endpoints; another account's are never found. */
export interface EndpointStore {
  /** Undefined: the account has `limit` endpoints already. */
  create(accountId: string, endpoint: NewEndpoint, limit: number): Promise<WebhookEndpoint | undefined>
  /** Oldest first. */
  list(accountId: string): Promise<WebhookEndpoint[]>
  find(accountId: string, id: string): Promise<WebhookEndpoint | undefined>
  /** Also ends its pending deliveries; false if there is no such endpoint. */
  remove(accountId: string, id: string): Promise<boolean>
  /** The old secret signs beside the new one for this long; undefined if there is no such endpoint. */
  rotateSecret(accountId: string, id: string, secret: string, oldForHours: number): Promise<WebhookEndpoint | undefined>
  /** Queues a test delivery; false if there is no such endpoint or it is disabled. */
  addTest(accountId: string, id: string, eventId: string): Promise<boolean>
  /** Newest first. */
  deliveries(id: string, page: PageRequest): Promise<Page<DeliveryRecord>>
  /** Resolves to the account's signing secret, `secret` if it had none; undefined: one origin more than `limit`. */
  admitOrigin(accountId: string, origin: string, secret: string, limit: number): Promise<string | undefined>
}

/** The sending side of deliveries; Postgres is the truth about every one. */
export interface DeliveryStore {
  /**
   * Claims, for some seconds, a due delivery of the endpoint that has waited longest: at most two at a time of each
   * endpoint, one while it keeps failing, and none of `exceptAccounts`.
   */
  claim(exceptAccounts: readonly string[]): Promise<ClaimedDelivery | undefined>
  delivered(delivery: ClaimedDelivery, status: number): Promise<void>
  /** @returns whether the endpoint was disabled: it is gone, or has failed for days */
  failed(delivery: ClaimedDelivery, outcome: FailedTry): Promise<{ readonly disabled: boolean }>
  /** Ends the pending deliveries of an endpoint that gets no more. */
  cancelPending(endpointId: string): Promise<void>
  /** Gives the claim back, because this process stops. */
  releaseClaim(delivery: ClaimedDelivery): Promise<void>
  /** Makes the pending deliveries of an endpoint that has recovered due soon. */
  retryNow(endpointId: string): Promise<void>
  /** Deletes old deliveries and fails those that have waited for too long. */
  clean(): Promise<void>
}

interface FailedTry {
  readonly fault: DeliveryFault
  readonly status: number | undefined
  /** Undefined: no retry. */
  readonly retryInSeconds: number | undefined
  /** For how long the endpoint gets no delivery, whatever is due. */
  readonly pauseSeconds: number
}

/** A job says that a delivery may be due. If one is lost, the regular poll finds the delivery. */
export interface WebhookJobs {
  /** Best effort, never an error. Resolves to whether the job is known to be in the queue. */
  enqueue(delivery: Pick<ClaimedDelivery, 'seq' | 'attempts'>, delayMs: number): Promise<boolean>
}

/** The content of an event, read when it is sent. */
export interface WebhookSubject
  extends Pick<GenerationView, 'id' | 'seed' | 'slugs' | 'error' | 'createdAt'>,
    Pick<Generation, 'batchSize' | 'prompt' | 'width' | 'height' | 'steps' | 'cfgScale'> {
  /** Its first slug, whether or not the image exists. */
  readonly imageId: string
  /** The Create Image preset, or the model's own name without one. */
  readonly model: string
}

export interface WebhookSender {
  /** Posts once, to public addresses only, following no redirect. Rejects only when `signal` aborts. */
  send(delivery: ClaimedDelivery, body: string, signal: AbortSignal): Promise<SendOutcome>
}

export interface WebhookTargets {
  /** Normalizes a URL; each connect checks its addresses. @throws AppError invalid_request naming `parameter` */
  require(url: string, parameter: string): URL
}
