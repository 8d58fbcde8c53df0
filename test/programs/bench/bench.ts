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

/**
 * Easel, rival, Easel, rival: what else the machine does meets both alike. The first round only warms up.
 * @returns Easel's values, and the rival's
 */
export async function rounds<Side, Value>(
  sides: readonly [easel: Side, rival: Side],
  measure: (side: Side) => Promise<Value>,
): Promise<[Value[], Value[]]> {
  const values: [Value[], Value[]] = [[], []]
  for (let n = 0; n <= ROUNDS; n++)
    for (const side of [0, 1] as const) {
      const value = await measure(sides[side])
      if (n > 0) values[side].push(value)
    }
  return values
}
