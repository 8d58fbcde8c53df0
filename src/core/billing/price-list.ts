import type { Log } from '../log.js'
import type { PaymentProvider, Price } from './payment-provider.js'

/** What a price costs never changes at a provider; whether it is active may. */
const FRESH_MS = 300_000
/** So long a page waits for prices that are not known yet. */
const WAIT_MS = 3000
/** So long after a failure no page waits. */
const PAUSE_MS = 10_000

interface Known {
  readonly price: Price | undefined
  readonly askedAt: number
}

/**
 * The prices of a provider, as it told them in the last minutes; asked again while the old answer is used. Undefined: one of
 * them is not known, and the provider does not tell it now.
 * @param missing told of each price that the provider does not have, as often as it is asked
 */
export function priceList(provider: Pick<PaymentProvider, 'price'>, log: Log, missing: (id: string) => unknown) {
  const known = new Map<string, Known>()
  const asking = new Map<string, Promise<void>>()
  let failedAt = Number.NEGATIVE_INFINITY

  const ask = (id: string): Promise<void> => {
    const asked =
      asking.get(id) ??
      provider
        .price(id)
        .then((price) => {
          known.set(id, { price, askedAt: performance.now() })
          if (!price) missing(id)
        })
        .catch((err) => {
          failedAt = performance.now()
          log.warn({ err, price: id }, 'the payment provider did not tell a price')
        })
        .finally(() => asking.delete(id))
    asking.set(id, asked)
    return asked
  }

  return async (ids: readonly string[]): Promise<ReadonlyMap<string, Price> | undefined> => {
    const now = performance.now()
    const mayAsk = now - failedAt > PAUSE_MS
    const stale = mayAsk ? ids.filter((id) => now - (known.get(id)?.askedAt ?? -FRESH_MS) >= FRESH_MS) : []
    const answers = stale.map((id) => [id, ask(id)] as const)
    const needed = answers.filter(([id]) => !known.has(id)).map(([, answer]) => answer)
    if (needed.length > 0) await atMost(WAIT_MS, Promise.all(needed))
    if (ids.some((id) => !known.has(id))) return undefined
    return new Map(
      ids.flatMap((id) => {
        const price = known.get(id)?.price
        return price ? [[id, price] as const] : []
      }),
    )
  }
}

/** Goes on after this time, whether the work is done or not. */
function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    void work.finally(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}
