import { AppError } from '../errors.js'
import { type PaymentProvider, PaymentProviderFailure, type Price } from './payment-provider.js'

/** What is to be sold; `every` is null for what is paid once. */
export interface Priced {
  readonly name: string
  readonly price: string | null
  readonly every: 'month' | 'year' | null
}

const EVERY = { month: 'a price that is paid each month', year: 'a price that is paid each year' } as const
const IS_PAID = { month: 'each month', year: 'each year', other: 'at other times' } as const

/**
 * Asks the provider for each price.
 * @throws invalid_request with one sentence: there is no such price, or it is paid more or less often than it should be
 * @throws unavailable when the provider cannot be asked
 */
export async function requirePrices(provider: Pick<PaymentProvider, 'price'>, items: readonly Priced[]): Promise<void> {
  for (const { name, price: id, every } of items) {
    if (id === null) continue
    const price = await provider.price(id).catch((error: unknown) => {
      if (!(error instanceof PaymentProviderFailure)) throw error
      throw new AppError(
        'unavailable',
        `The payment provider could not say whether there is the price ${id}: ${error.message}`,
      )
    })
    const problem = problemOf(id, price, every)
    if (problem) throw new AppError('invalid_request', `"${name}" cannot be sold: ${problem}.`)
  }
}

function problemOf(id: string, price: Price | undefined, every: Priced['every']): string | undefined {
  if (!price)
    return `the payment provider has no active price ${id} with a fixed amount; make one there, or correct its ID`
  if (price.every === every) return undefined
  const is = price.every === null ? 'once' : IS_PAID[price.every]
  return `${id} is paid ${is}; name ${every === null ? 'a price that is paid once' : EVERY[every]}`
}

/** Asks the payment provider, where there is one, for what is to be sold. @throws as requirePrices */
export type RequirePrices = (items: readonly Priced[]) => Promise<void>

export const requirePricesAt =
  (provider: Pick<PaymentProvider, 'price'> | undefined): RequirePrices =>
  async (items) => {
    if (provider) await requirePrices(provider, items)
  }
