import { dueWork } from '../../lib/due-work.js'
import type { Log } from '../log.js'
import type { PayingAccount, PaymentProvider } from './payment-provider.js'

/** An account of which the provider is to be told, claimed for a while by one process. */
interface CustomerChange {
  readonly account: PayingAccount
  readonly customers: readonly string[]
  /** Rises with each change. */
  readonly changes: number
  /** How often in a row it could not be told. */
  readonly attempts: number
}

/** Which accounts have changed since the provider was told of them. */
export interface CustomerChanges {
  /** What has been due for longest, for so many seconds; undefined: nothing is due. */
  claim(seconds: number): Promise<CustomerChange | undefined>
  /** The provider knows it; if the account has changed since, it is told again. */
  told(change: CustomerChange): Promise<void>
  /** It could not be told, and is again after so long. */
  failed(change: CustomerChange, retryInSeconds: number): Promise<void>
}

/** Longer than it may take to tell of one account. */
const LEASE_SECONDS = 60
/** A change may wait: nobody looks at it but who writes a bill or a mail. */
const POLL_MS = 5000
const FIRST_RETRY_SECONDS = 30
const MAX_RETRY_SECONDS = 6 * 3600
/** The provider has limits, and purchases come first. */
const AT_ONCE = 2

/** Tells the provider what has changed of accounts that it knows: their address, their language, that they are gone. */
export function customerLoop(
  changes: CustomerChanges,
  provider: Pick<PaymentProvider, 'tellCustomer'>,
  log: Log,
  { pollMs = POLL_MS } = {},
) {
  async function tell(change: CustomerChange): Promise<void> {
    try {
      // One that the provider does not have is of a sandbox, or was deleted there: nothing is to be told.
      for (const customer of change.customers) await provider.tellCustomer(customer, change.account)
    } catch (err) {
      log.warn({ err, userId: change.account.id }, 'the payment provider is told later of a change')
      return changes.failed(
        change,
        Math.min(FIRST_RETRY_SECONDS * 2 ** Math.min(change.attempts, 20), MAX_RETRY_SECONDS),
      )
    }
    await changes.told(change)
  }

  const work = dueWork<CustomerChange>({
    claim: () => changes.claim(LEASE_SECONDS),
    // If Postgres is away, the claim ends, and then it is told again.
    work: (change) =>
      tell(change).catch((err) => log.warn({ err, userId: change.account.id }, 'a change of a customer is told again')),
    mayBegin: (inFlight) => inFlight < AT_ONCE,
    onClaimFault: (err) => log.warn({ err }, 'changes of customers could not be claimed'),
  })
  let timer: NodeJS.Timeout | undefined

  return {
    /** Polls from now on. */
    start(): void {
      timer = setInterval(() => void work.wake(), pollMs)
      void work.wake()
    },

    /** Tells nothing more; what is being told may end. */
    async stop(withinMs: number): Promise<void> {
      clearInterval(timer)
      await work.stop(new AbortController(), withinMs)
    },
  }
}
