/** What the clients of a run asked and what came back, one exchange at a time. Times as Date.now() gives them. */
import type { Message } from '../../../src/client/follow-generation.js'

export type Asked =
  | ({ readonly what: 'submit'; readonly tag: string; readonly batch: number; readonly key?: string } & ByKey)
  | ({ readonly what: 'create'; readonly tag: string; readonly metered: boolean; readonly key?: string } & ByKey)
  | { readonly what: 'poll' | 'cancel'; readonly id: string }
  | { readonly what: 'events'; readonly id: string }
  | { readonly what: 'image'; readonly url: string; readonly sizes: readonly number[] }
  | { readonly what: 'account' }
  /** An act of an operator's program, and how it may be answered. */
  | { readonly what: 'act'; readonly name: string; readonly statuses: readonly number[] }
  /**
   * A page of the website, or a form of one: how it may be answered, also while something is out of order, and the word that only this
   * visitor's things hold.
   */
  | {
      readonly what: 'page'
      readonly name: string
      readonly statuses: readonly number[]
      readonly inFaults?: readonly number[] | undefined
      readonly mark: string
    }
  /** Something whose answer is known beforehand. */
  | { readonly what: 'probe'; readonly name: string; readonly status: number; readonly createImage: boolean }

/** What the API key of a submit may do, where that is not everything. */
interface ByKey {
  /** How many credits it may spend in a month. */
  readonly limit?: number | undefined
  /** Whether the model is none of those that it may use. */
  readonly isForbidden?: boolean
}

export interface Answered {
  readonly status: number
  /** The parsed JSON; undefined where the body was none. */
  readonly body: unknown
  readonly requestId: string | undefined
  readonly retryAfter: string | undefined
  /** What came over a stream until it ended, broke off or was left. */
  readonly events?: readonly Message[]
  /** Of the website. */
  readonly page?: { readonly text: string; readonly cookie: string | undefined; readonly location: string | undefined }
  readonly image?: { readonly sha256: string; readonly width: number; readonly height: number }
}

/** Why no answer came: the connection broke, the client's patience ended, or the client itself hung up. */
export type Lost = 'broken' | 'timeout' | 'hung up'

export interface Exchange {
  readonly user: string
  readonly asked: Asked
  /** Which server was asked. */
  readonly server: string
  readonly at: number
  readonly until: number
  readonly got: Answered | Lost
}

export interface Violation {
  /** `I1` to `I17` of the reliability page's section 5. */
  readonly invariant: string
  readonly what: string
}

/** A generation as its row has it when everything is over. */
export interface FinalGeneration {
  readonly user: string
  readonly status: string
  readonly cost: number
  readonly metered: boolean
}

/** What is left when the faults have stopped and everything had its time to heal. */
export interface Outcome {
  readonly generations: ReadonlyMap<string, FinalGeneration>
  /** Of personal keys' users, as GET /api/v1/account says. */
  readonly credits: ReadonlyMap<string, { readonly granted: number; readonly left: number }>
  /** The status of each such user's next submit. */
  readonly nextSubmit: ReadonlyMap<string, number>
}
