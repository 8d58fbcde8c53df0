/** What every case is given, and how long it measures. */
import type { Figures } from './figures.js'
import type { BenchUser } from './givens.js'
import type { startLoadGenerator } from './load.js'
import type { BenchStack, Started } from './stack.js'

export const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)
export const SECONDS = Number(process.env.BENCH_SECONDS ?? 1.5)
export const CONNECTIONS = 16

export interface Bench {
  readonly stack: BenchStack
  readonly rival: Started
  readonly rivalScript: string
  readonly generator: ReturnType<typeof startLoadGenerator>
  /** Those who have an active generation while requests are measured, and those who submit. */
  readonly active: readonly BenchUser[]
  readonly free: readonly BenchUser[]
  /** One of the free that none of the cases with images has had yet. */
  readonly nextUser: () => BenchUser
  readonly figures: Figures
  /** Whether `--case` asks for it. */
  readonly wanted: (name: string) => boolean
}
