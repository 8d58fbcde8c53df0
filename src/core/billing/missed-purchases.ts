import type { Log } from '../log.js'
import type { PaymentProvider, Purchase } from './payment-provider.js'
import type { PaymentFaults, PaymentQueue } from './ports.js'

interface Ports {
  readonly provider: Pick<PaymentProvider, 'purchasesSince'>
  readonly queue: Pick<PaymentQueue, 'add'>
  readonly faults: PaymentFaults
  readonly log: Log
}

const EVERY_MS = 300_000
const DAY_MS = 24 * 3_600_000
/** Longer than a page to pay on stays open, and a provider sends an event again. */
const DAYS = 5
/** The first look of a server: events may have failed for long. */
const FIRST_DAYS = 30

const FAULT = {
  key: 'purchases without events',
  sentence:
    'Purchases were found by asking the payment provider, as no event told of them: see on its pages whether it sends events to this service, and what it is answered.',
}

/**
 * Finds what was bought and no event tells of: the endpoint is off, leads elsewhere, or has another secret, or the service was
 * away for longer than events are sent again. What is found twice, some minutes apart, is asked for like what an event tells of.
 */
export function missedPurchases({ provider, queue, faults, log }: Ports, everyMs = EVERY_MS) {
  let days = FIRST_DAYS
  /** By the last look: the event of a new one may be under way. */
  let seen: ReadonlySet<string> = new Set()
  let looking: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined

  async function find(): Promise<void> {
    const found = await provider.purchasesSince(new Date(Date.now() - days * DAY_MS))
    const keyOf = ({ kind, id }: Purchase) => `${kind} ${id}`
    const missed = await queue.add(found.filter((it) => seen.has(keyOf(it))))
    if (seen.size > 0) days = DAYS
    seen = new Set(found.map(keyOf))
    if (missed === 0) return
    log.warn({ purchases: missed }, 'purchases were found of which no event of the payment provider has told')
    await faults.note(FAULT)
  }

  const look = (): Promise<void> => {
    looking ??= find()
      .catch((err) => log.warn({ err }, 'the payment provider could not be asked what was bought'))
      .finally(() => {
        looking = undefined
      })
    return looking
  }

  return {
    /** Looks once. Never rejects. */
    look,

    /** Looks from now on. */
    start(): void {
      timer = setInterval(() => void look(), everyMs)
      void look()
    },

    /** Looks no more. Does not wait: what is not found now is found by another server, or later. */
    stop(): void {
      clearInterval(timer)
    },
  }
}
