/** How many violations of a check are named. */
export const EXAMPLES = 5

export interface Violations {
  readonly violations: number
  /** Some of what is wrong: IDs or names. */
  readonly examples: readonly string[]
}

export interface Check extends Violations {
  readonly name: string
}

export interface Finding extends Violations {
  /** The service may be in the middle of a change, or about to repair it: the run after this time counts. */
  readonly again?: { readonly afterMs: number; readonly run: () => Promise<Violations> }
}

/**
 * A part of the history, as SQL to select from. Ended generations and ledger entries no longer change, so they are
 * checked once; generations that have not ended are checked every time.
 */
export interface Slice {
  readonly generations: string
  readonly ledger: string
}

export interface SqlCheck {
  readonly name: string
  /** Over everything, or over one slice: one row per violation, with one column that names it. */
  readonly query: string | ((slice: Slice) => string)
  /** How soon the service repairs a violation by itself. */
  readonly repairedWithinMs?: number
}

/** A finding that may come from the middle of a change, so it is repeated. */
export const suspected = (first: Violations, afterMs: number, run: () => Promise<Violations>): Finding =>
  first.violations === 0 ? first : { ...first, again: { afterMs, run } }

/** Violations found outside of SQL. */
export const counted = (found: readonly string[]): Violations => ({
  violations: found.length,
  examples: found.toSorted().slice(0, EXAMPLES),
})
