import type { DaySpan } from '../accounts/usage.js'

export interface CreditFigures {
  /** By plans and operators. */
  readonly granted: number
  readonly sold: number
  /** On generations, less what was given back. */
  readonly spent: number
  readonly expired: number
}

export interface SubscriptionFigures {
  readonly started: number
  /** Their end has passed. */
  readonly ended: number
}

export interface GenerationFigures {
  readonly generations: number
  readonly images: number
  /** Credits, less what was given back. */
  readonly spent: number
}

export interface DayFigures extends CreditFigures, SubscriptionFigures {
  readonly day: string
}

export interface PlanFigures extends CreditFigures, SubscriptionFigures {
  /** That the account has now; null: it has no subscription. */
  readonly plan: string | null
  /** Now. */
  readonly active: number
}

export interface ModelFigures extends GenerationFigures {
  readonly modelVersionId: number
  readonly modelName: string
}

export interface AccountFigures extends GenerationFigures {
  readonly username: string
}

export interface BackendFigures {
  /** Null: none had begun the generation. */
  readonly backend: string | null
  /** Attempts that were put back into the queue. */
  readonly putBack: number
  /** Generations whose last attempt it had. */
  readonly failed: number
  /** Credits of those. */
  readonly refunded: number
}

/** Of some days, in UTC. A generation counts for the day of its submit. */
export interface Figures {
  /** Every one of them, oldest first. */
  readonly days: readonly DayFigures[]
  readonly plans: readonly PlanFigures[]
  /** What most was spent on comes first, as in the next list. */
  readonly models: readonly ModelFigures[]
  /** No more than MOST_ACCOUNTS. */
  readonly accounts: readonly AccountFigures[]
  readonly backends: readonly BackendFigures[]
}

export const MOST_ACCOUNTS = 50

export interface OperatorFigures {
  of(span: DaySpan): Promise<Figures>
}
