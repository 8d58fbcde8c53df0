/** How many violations of a check are named at most: what a failover or a restore has lost must be found one by one. */
export const NAMED = 1000

export interface Violations {
  readonly violations: number
  /** Some of what is wrong: IDs or names. */
  readonly examples: readonly string[]
}

export type Check = Violations & { readonly name: string }

export interface Finding extends Violations {
  /** The service may be in the middle of a change, or about to repair it: the run after this time counts. */
  readonly again?: { readonly afterMs: number; readonly run: () => Promise<Violations> }
}

/** By their names. */
export type Checks = Readonly<Record<string, () => Promise<Finding>>>

/** A finding that is repeated, unless there was nothing to find; `afterMs` undefined: it counts at once. */
export const suspected = (first: Violations, afterMs: number | undefined, run: () => Promise<Violations>): Finding =>
  first.violations === 0 || afterMs === undefined ? first : { ...first, again: { afterMs, run } }

/** Violations found outside of SQL. */
export const counted = (found: readonly string[]): Violations => ({
  violations: found.length,
  examples: found.toSorted().slice(0, NAMED),
})
