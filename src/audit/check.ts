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

export interface SqlCheck {
  readonly name: string
  /** A query with one column and a row for each violation: a text that names it. */
  readonly query: string
}

/** Findings made outside of SQL, in the same form. */
export const counted = (found: readonly string[]): Violations => ({
  violations: found.length,
  examples: found.toSorted().slice(0, EXAMPLES),
})
