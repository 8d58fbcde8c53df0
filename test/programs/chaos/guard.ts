import type pg from 'pg'
import type { ChaosOptions } from './chaos.js'
import type { SwitchableGuard } from './failpoint.js'
import type { Violation } from './history.js'
import type { Stage } from './stage.js'

/** What a guard's attack and probe work with: the run's stage and a connection of their own. */
export interface Scene {
  readonly stage: Stage
  readonly client: pg.Client
}

/** Something that stands between a fault and its harm, and how a run goes that shows what is lost without it. */
export interface Guard {
  readonly name: string
  /** How it is taken away in the code: names for GUARDS_OFF. */
  readonly off?: readonly SwitchableGuard[]
  /** How it is taken away in the database. */
  readonly drop?: string
  /** Without this guard alone nothing is lost, since that one does its work; both are taken away. */
  readonly coveredBy?: string
  /** At least one of these invariants must be seen broken; another one would only be a side effect. */
  readonly noticedBy: readonly string[]
  /** What goes wrong meanwhile in the ordinary course; none unless given. */
  readonly run?: Partial<ChaosOptions>
  /** FAILPOINTS of all processes meanwhile. */
  readonly failpoints?: string
  /** For how long a user may be refused as busy with nothing active, in milliseconds; any time unless given. */
  readonly blockedMs?: number
  /** Does once, amid the load, what the guard forbids or mends; a refusal is what it may meet. */
  readonly attack?: (scene: Scene) => Promise<unknown>
  /** What the guard promises, looked at before the load begins. */
  readonly probe?: (scene: Scene) => Promise<Violation[]>
}
