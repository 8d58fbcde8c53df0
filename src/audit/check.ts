/** How many findings of a check are named. */
export const EXAMPLES = 5

export interface Violations {
  readonly violations: number
  /** Some of what is wrong: IDs or names. */
  readonly examples: readonly string[]
}

export interface Check extends Violations {
  readonly name: string
}

/** What a check found at first. */
export interface Look extends Violations {
  /** The service may be in the middle of a change, or about to repair it: the look after this time counts. */
  readonly again?: { readonly afterMs: number; readonly look: () => Promise<Violations> }
}

/**
 * A part of the history, as SQL to read from like a table. Ended generations and ledger entries no longer change, so they
 * are checked once; generations that have not ended are checked every time.
 */
export interface Slice {
  readonly generations: string
  readonly ledger: string
}

export interface SqlCheck {
  readonly name: string
  /** Over everything, or over one slice: one row per violation, with one column that names it. */
  readonly query: string | ((slice: Slice) => string)
  /** How soon the service repairs it by itself. */
  readonly mendedWithinMs?: number
}

/** A first look that may have seen the middle of a change. */
export const suspected = (first: Violations, afterMs: number, look: () => Promise<Violations>): Look =>
  first.violations === 0 ? first : { ...first, again: { afterMs, look } }

/** Findings made outside of SQL, in the same form. */
export const counted = (found: readonly string[]): Violations => ({
  violations: found.length,
  examples: found.toSorted().slice(0, EXAMPLES),
})
