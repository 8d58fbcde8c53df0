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

/** What a check's first look has found. */
export interface Look extends Violations {
  /** The service may be in the middle of a change, or about to repair it: the look after this time is what counts. */
  readonly again?: { readonly afterMs: number; readonly look: () => Promise<Violations> }
}

/**
 * A part of the history, as SQL that can be read from like a table. Ended generations and ledger entries no longer
 * change, so they are checked once; generations that have not ended are checked every time.
 */
export interface Slice {
  readonly generations: string
  readonly ledger: string
}

/** How far the audit has come: every generation and ledger entry before these was checked. */
export interface AuditPosition {
  readonly seq: number
  readonly ledgerId: number
}

export interface SqlCheck {
  readonly name: string
  /** A query over everything, or over one slice: it returns one row per violation, with one column that names it. */
  readonly query: string | ((slice: Slice) => string)
  /** How soon the service repairs it by itself. */
  readonly mendedWithinMs?: number
}

/** Findings made outside of SQL, in the same form. */
export const counted = (found: readonly string[]): Violations => ({
  violations: found.length,
  examples: found.toSorted().slice(0, EXAMPLES),
})
