/** Months long past go from Postgres to the archive, which is files in the image store, a few generations at a time. */
import { repeatedly } from '../../lib/repeatedly.js'
import type { Log } from '../log.js'
import { pauseAfter } from './move-to-months.js'
import type { PassLease } from './ports.js'

/** The files, as bytes. Each method rejects with a sentence for the operator. */
export interface ArchiveFiles {
  /** Resolves once the file is durable. @param id a UUID that no other file has had */
  put(id: string, bytes: Buffer): Promise<void>
  /** Undefined: there is no such file. */
  read(id: string): Promise<Buffer | undefined>
  remove(id: string): Promise<void>
}

export interface ArchiveStore {
  /** The months that may go: they ended so many whole months before this one, and have tables of generations. The oldest first. */
  months(archiveMonths: number): Promise<string[]>
  /** The next accounts with generations in the tables of the month, in the order of their IDs. */
  accounts(month: string, after: string | undefined): Promise<string[]>
  /** Archives some generations of these accounts, each from its place on. */
  step(month: string, accounts: readonly AccountPlace[]): Promise<ArchiveStep>
  /** Drops the tables of a month that has no generation left in them. Resolves to whether it did: somebody may be reading. */
  dropMonth(month: string): Promise<boolean>
  /** Removes files that nobody is to read any more. */
  removeUnused(): Promise<void>
}

interface ArchiveStep {
  readonly generations: number
  /** Those that changed meanwhile. */
  readonly left: number
  /** The accounts that may have more of the month. */
  readonly more: readonly AccountPlace[]
}

/** How far the generations of an account have been looked at. */
export interface AccountPlace {
  readonly accountId: string
  /** The last of them; undefined: none. */
  readonly after?: { readonly at: string; readonly seq: number }
}

/** What was done. */
export interface ArchivedMonths {
  generations: number
  /** Those that somebody changed at that moment. */
  left: number
  /** Those that have no tables of generations any more, like 2025-09-01. */
  readonly dropped: string[]
}

/**
 * Archives all that is due. It may be stopped or killed at any moment, and be at work more than once: each step is done wholly or
 * not at all.
 * @param archiveMonths how many whole months before this one stay in Postgres; undefined: nothing goes that has not gone
 * @param onStep told after each step
 */
export async function archiveMonths(
  store: ArchiveStore,
  archiveMonths: number | undefined,
  signal: AbortSignal,
  onStep: (done: ArchivedMonths) => unknown = () => undefined,
): Promise<ArchivedMonths> {
  const done: ArchivedMonths = { generations: 0, left: 0, dropped: [] }
  for (const month of archiveMonths === undefined ? [] : await store.months(archiveMonths)) {
    for (let after: string | undefined; !signal.aborted; ) {
      const accounts = await store.accounts(month, after)
      after = accounts.at(-1)
      if (after === undefined) break
      let some: readonly AccountPlace[] = accounts.map((accountId) => ({ accountId }))
      while (some.length > 0 && !signal.aborted) {
        const began = performance.now()
        const { generations, left, more } = await store.step(month, some)
        done.generations += generations
        done.left += left
        some = more
        await onStep(done)
        await pauseAfter(began, signal)
      }
    }
    if (signal.aborted) break
    if (await store.dropMonth(month)) done.dropped.push(month)
  }
  await store.removeUnused()
  return done
}

interface Ports {
  readonly lease: PassLease
  readonly store: ArchiveStore
  readonly archiveMonths: number | undefined
  readonly log: Pick<Log, 'info'>
  /** What failed is tried again by the next pass. */
  readonly onFault: (error: unknown) => void
}

/** Archives what is due about once an hour, in one of all servers. */
export function startArchive({ lease, store, archiveMonths: months, log, onFault }: Ports): { stop(): void } {
  const holder = crypto.randomUUID()
  return repeatedly(async (signal) => {
    if (!(await lease.begin(holder))) return
    const done = await archiveMonths(store, months, signal, () => lease.goOn(holder))
    if (done.generations > 0 || done.left > 0 || done.dropped.length > 0) log.info({ ...done }, 'months were archived')
    if (!signal.aborted) await lease.end(holder, false)
  }, onFault)
}
