import type { EndedGeneration } from '../generations/cancel.js'
import type { ActedBy, Recorded } from './operator-actions.js'

/** Of an act: what was done, in the past tense, and to what. */
export type Said = readonly [action: string, target: string]

/** Through what an operator acts: on the command line, the website or /admin/v1. */
export interface Acting<Stores> {
  readonly by: ActedBy
  /** For what is only read. */
  readonly stores: Stores
  /**
   * Does something and records it, in one transaction.
   * @param saidOf what was done; undefined: nothing that is new
   */
  recorded<T>(work: (stores: Stores) => Promise<T>, saidOf: (done: T) => Said | undefined): Promise<T>
  /** What is to be done outside Postgres after an act. Where the act may still be undone, it is done once it is certain. */
  readonly outside: OutsideActs
}

export interface OutsideActs {
  clearLeftovers(ended: EndedGeneration): Promise<void>
  removeImage(slug: string): Promise<void>
}

/** Records each act as what `by` did, and why. */
export const actingAs = <Stores>(
  ports: { readonly stores: Stores; readonly recorded: Recorded<Stores>; readonly outside: OutsideActs },
  by: ActedBy,
): Acting<Stores> => ({
  by,
  stores: ports.stores,
  outside: ports.outside,
  recorded: (work, saidOf) =>
    ports.recorded(work, (done) => {
      const [action, target] = saidOf(done) ?? []
      return action === undefined || target === undefined ? undefined : { ...by, action, target }
    }),
})
