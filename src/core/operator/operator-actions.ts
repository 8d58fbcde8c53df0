import type { Page, PageRequest } from '../../lib/page.js'

/** One thing that an operator does. */
export interface OperatorAct {
  /** The username; on the command line, `command line` and who runs it; `identity provider` where a sign-in did it. */
  readonly actor: string
  /** In words, in the past tense: `granted 10 credits`. */
  readonly action: string
  /** What it was done to: a username, a generation's ID, a model file; empty where there is nothing to name. */
  readonly target: string
  /** Why; empty where nobody asked. */
  readonly reason: string
}

/** Who does it, and why. */
export type ActedBy = Pick<OperatorAct, 'actor' | 'reason'>

export interface RecordedAct extends OperatorAct {
  readonly id: number
  readonly at: Date
}

/**
 * Does something and records it, in one transaction: neither is done without the other.
 * @param work changes what it is given; when it throws, nothing was changed. Nothing remote belongs inside
 * @param actOf what to record of its result; undefined: there was nothing to do
 */
export type Recorded<Stores> = <T>(
  work: (stores: Stores) => Promise<T>,
  actOf: (done: T) => OperatorAct | undefined,
) => Promise<T>

/** What operators have done, and why. */
export interface OperatorActions {
  record(act: OperatorAct): Promise<void>
  /** Newest first. */
  list(page: PageRequest): Promise<Page<RecordedAct>>
}

/** A reason is one line of up to so many characters. */
export const MAX_REASON_LENGTH = 500
