/** Watches a Postgres that answers, but refuses statements for the state that it is in: read-only, a full disk, … */
import { databaseError, sqlState } from '../sql-state.js'
import { databaseRefusal } from './database-checks.js'

interface FaultWatchPorts {
  /** What is wrong with Postgres now, as one sentence; undefined: nothing. */
  readonly problem: () => Promise<string | undefined>
  readonly onFault: (error: Error) => void
  /** Called once after the last fault. */
  readonly onEnd: () => void
}

const LOOK_EVERY_MS = 1000
/** A fault may be of some statements only, so that nothing but time shows its end. */
const OVER_AFTER_MS = 5000

const DISK_FULL = '53100'

export function faultWatch({ problem, onFault, onEnd }: FaultWatchPorts) {
  let last: { readonly error: Error; readonly at: number } | undefined
  let timer: NodeJS.Timeout | undefined

  const look = async (): Promise<void> => {
    const isOver = (await problem()) === undefined && last && performance.now() - last.at > OVER_AFTER_MS
    if (timer === undefined) return // stopped
    if (!isOver) {
      timer = setTimeout(() => void look(), LOOK_EVERY_MS)
      return
    }
    timer = last = undefined
    onEnd()
  }

  return {
    noted(error: Error): void {
      last = { error, at: performance.now() }
      onFault(error)
      timer ??= setTimeout(() => void look(), LOOK_EVERY_MS)
    },
    /** What was noticed and no look at Postgres shows, as one sentence. */
    problem: (): string | undefined => (sqlState(last?.error) === DISK_FULL ? databaseRefusal(last?.error) : undefined),
    /** What Postgres refuses now, though other statements may work, as one sentence. */
    refused: (): string | undefined => last && `Postgres refuses statements: ${reasonOf(last.error)}`,
    stop(): void {
      clearTimeout(timer)
      timer = undefined
    },
  }
}

const reasonOf = (error: Error): string =>
  databaseRefusal(error) ?? `${databaseError(error)?.message}; look into its log.`
