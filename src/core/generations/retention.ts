/** What is not kept for ever: prompts and images that are older than their plan or the installation keeps them. */
import { repeatedly } from '../../lib/repeatedly.js'
import type { Log } from '../log.js'
import type { PassLease } from './ports.js'

/** In days, unless the account's plan says otherwise; undefined: for ever. */
export interface RetentionDays {
  readonly prompts: number | undefined
  readonly images: number | undefined
}

/** How long an account's are kept. */
export type RetentionOf = (accountId: string) => Promise<RetentionDays>

/** Of an account, what is older than it is kept. */
export interface OverdueAccount {
  readonly accountId: string
  readonly prompts: boolean
  readonly images: boolean
  /** Prompts that moderation refused. */
  readonly refusals: boolean
}

export interface RetentionStore extends PassLease {
  /** Whether anything is not kept for ever. */
  endsAnything(kept: RetentionDays): Promise<boolean>
  /** Looks at some accounts, in order. `last`: the one to go on behind; undefined: there are no more. */
  overdue(
    kept: RetentionDays,
    after: string | undefined,
  ): Promise<{ readonly accounts: readonly OverdueAccount[]; readonly last: string | undefined }>
  /** Empties prompts of some ended generations, the oldest first. Resolves to how many these were; 0: no more are overdue. */
  emptyPrompts(accountId: string, kept: RetentionDays): Promise<number>
  /** Whether so few images are still to be taken down or moved that those of people do not wait long behind more. */
  takesMoreImages(): Promise<boolean>
  /** Marks images of some generations as removed, so that their files go. Resolves likewise. */
  removeImages(accountId: string, kept: RetentionDays): Promise<number>
  /** Resolves likewise. */
  emptyRefusals(accountId: string, kept: RetentionDays): Promise<number>
}

/** The reason that is kept with an image. */
export const REMOVED_BY_AGE = 'Removed after the time for which images are kept.'

interface Ports {
  readonly store: RetentionStore
  readonly kept: RetentionDays
  readonly log: Pick<Log, 'info'>
  /** What failed is tried again by the next pass. */
  readonly onFault: (error: unknown) => void
}

/**
 * Makes a pass over all accounts about once an hour, in one of all servers, in small steps that lock nothing that is in use;
 * soon again when images had to wait.
 */
export function startRetention({ store, kept, log, onFault }: Ports): { stop(): void } {
  const holder = crypto.randomUUID()
  const all = async (work: RetentionStore['emptyPrompts'], accountId: string, signal: AbortSignal) => {
    let total = 0
    for (let done = -1; done !== 0 && !signal.aborted; total += done) {
      done = await work(accountId, kept)
      await store.goOn(holder)
    }
    return total
  }
  return repeatedly(async (signal) => {
    if (!(await store.begin(holder))) return
    const total = { prompts: 0, images: 0, refusedPrompts: 0 }
    // One account holds up no other: a file of the archive may be lost.
    const withoutFailure = (work: () => Promise<void>) =>
      work().catch((error) => {
        if (!signal.aborted) onFault(error)
      })
    // The pass does not wait for a long queue: prompts must go also while the CDN takes no purges.
    let mustWait = false
    const removeImages: RetentionStore['removeImages'] = async (accountId) => {
      mustWait ||= !(await store.takesMoreImages())
      return mustWait ? 0 : store.removeImages(accountId, kept)
    }
    if (await store.endsAnything(kept))
      for (let after: string | undefined; !signal.aborted; ) {
        const { accounts, last } = await store.overdue(kept, after)
        for (const { accountId, prompts, images, refusals } of accounts)
          await withoutFailure(async () => {
            if (prompts) total.prompts += await all(store.emptyPrompts, accountId, signal)
            if (images) total.images += await all(removeImages, accountId, signal)
            if (refusals) total.refusedPrompts += await all(store.emptyRefusals, accountId, signal)
          })
        if (last === undefined) break
        after = last
        await store.goOn(holder)
      }
    if (Object.values(total).some((count) => count > 0)) log.info(total, 'what is no longer kept was removed')
    if (!signal.aborted) await store.end(holder, mustWait)
  }, onFault)
}
