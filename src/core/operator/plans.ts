import type { Plan } from '../accounts/plan.js'
import type { ActedBy } from './operator-actions.js'

/** A plan in the operator's list. */
export interface ListedPlan extends Plan {
  /** Active ones; others may still have it. */
  readonly subscribers: number
}

/** A plan, as an operator writes it: in the fields of an import, none of which was checked. */
export type PlanEntry = Readonly<Record<string, unknown>>

/** The changes record the act with them. */
export interface OperatorPlans {
  /** Retired ones last. */
  list(): Promise<readonly ListedPlan[]>
  /**
   * Adds a plan, or changes the one of its name; a retired one is offered again.
   * @throws invalid_request with one sentence that says what to change
   */
  save(entry: PlanEntry, by: ActedBy): Promise<void>
  /** Undefined: there is no such plan. */
  retire(name: string, by: ActedBy): Promise<Date | undefined>
}
