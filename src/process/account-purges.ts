import { cancelAll, deleteAccount } from '../core/accounts/delete-account.js'
import { cancelGeneration } from '../core/generations/cancel.js'
import { CANCELED } from '../core/generations/failure-reason.js'
import type { ImageStore } from '../core/images/ports.js'
import { accountPurges, forgetUnsentMails, takeName } from '../db/accounts/purges.js'
import { administration } from '../db/operator/administration.js'
import { repeatedly } from '../lib/repeatedly.js'
import type { Config } from './config.js'
import type { Foundation } from './foundation.js'
import { purgeOf } from './purge-account.js'

type Purging = Pick<Foundation, 'db' | 'lock' | 'queue'>

/** Wipes all that accounts leave whose owners deleted them, in any number of servers. Each step can be repeated. */
export function startAccountPurges(
  config: Config,
  { db, lock, queue }: Purging,
  images: Pick<ImageStore, 'remove'>,
  { onEnd, onFault }: { onEnd(accountId: string): void; onFault(error: unknown): void },
): { stop(): void } {
  const purges = accountPurges(db)
  const stores = administration(db)
  const ports = { cancels: stores.cancels, lock, queue, images }
  const cancel = (id: string) => cancelGeneration(ports, id, CANCELED, { onlyQueued: false })
  const purge = purgeOf(db, config)
  return repeatedly(async (signal) => {
    for (let id = await purges.claimDue(); id && !signal.aborted; id = await purges.claimDue()) {
      // It may have been decided and not begun. What is active is canceled before what has ended is wiped.
      await deleteAccount(stores, id)
      await cancelAll({ generations: stores.generations, cancel }, id)
      await forgetUnsentMails(db, id)
      // One that cannot be wiped wholly is tried again later, and holds up no other.
      const fault = await purge(id).then(
        () => undefined,
        (error: unknown) => ({ error }),
      )
      await takeName(db, id)
      if (fault) {
        onFault(fault.error)
        continue
      }
      await purges.finish(id)
      onEnd(id)
    }
  }, onFault)
}
