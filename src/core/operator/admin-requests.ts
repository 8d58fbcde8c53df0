import type { Administration } from './administration.js'
import type { Recorded } from './operator-actions.js'

/** What was answered to a request of /admin/v1. */
export interface StoredAnswer {
  readonly status: number
  /** Without what is shown once, such as a new key. */
  readonly body: unknown
}

/** A request with an Idempotency-Key. */
export interface AdminRequest {
  /** Whose Idempotency-Key it is. */
  readonly keyId: string
  readonly key: string
  /** Over its method, path and body. */
  readonly hash: Buffer
}

export interface AdminRequests {
  /**
   * Does `work` and stores its answer in the same transaction, or gives the first answer again.
   * @param work acts on what it is given, which belongs to the transaction; nothing remote belongs inside
   * @throws idempotency_mismatch, idempotency_in_flight
   */
  once<T extends StoredAnswer>(
    request: AdminRequest,
    work: (within: { readonly stores: Administration; readonly recorded: Recorded<Administration> }) => Promise<T>,
  ): Promise<{ readonly first: StoredAnswer } | { readonly done: T }>
}
