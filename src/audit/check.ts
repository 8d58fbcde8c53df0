/** How many of a check's findings are named. */
export const EXAMPLES = 5

export interface Violations {
  readonly violations: number
  /** Some of what is wrong: IDs or names. */
  readonly examples: readonly string[]
}

export interface Check extends Violations {
  readonly name: string
}

/** What a first look has found. */
export interface Look extends Violations {
  /** The service may just have been in the middle of it, or about to mend it: what a look after this time finds, counts. */
  readonly again?: { readonly afterMs: number; readonly look: () => Promise<Violations> }
}

/**
 * A part of what has happened, as SQL to read from like a table. What has ended and what is in the ledger does not change
 * any more, so it is looked at once; what has not ended, each time.
 */
export interface Slice {
  readonly generations: string
  readonly ledger: string
}

export interface SqlCheck {
  readonly name: string
  /** A query with one column and a row for each violation, a text that names it: over everything, or of a slice. */
  readonly query: string | ((slice: Slice) => string)
  /** How soon the service mends it by itself. */
  readonly mendedWithinMs?: number
}

/** Findings made outside of SQL, in the same form. */
export const counted = (found: readonly string[]): Violations => ({
  violations: found.length,
  examples: found.toSorted().slice(0, EXAMPLES),
})
