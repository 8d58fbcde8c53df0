import { AppError } from '../errors.js'
import { type PaymentProvider, PaymentProviderFailure, type Price } from './payment-provider.js'

/** What is to be sold; `every` is null for what is paid once. */
export interface Priced {
  readonly name: string
  readonly price: string | null
  readonly every: 'month' | 'year' | null
  /** Whether people can buy it on the website; those must have one currency. */
  readonly isSold: boolean
}

const EVERY = { month: 'a price that is paid each month', year: 'a price that is paid each year' } as const
const IS_PAID = { month: 'each month', year: 'each year', other: 'at other times' } as const

/**
 * Asks the provider for each price.
 * @param stored what is sold already, of which items of the same kind and name are replaced
 * @throws invalid_request with one sentence: there is no such price, it is paid more or less often than it should be, or in
 *   another currency than what else is sold
 * @throws unavailable when the provider cannot be asked
 */
export async function requirePrices(
  provider: Pick<PaymentProvider, 'price'>,
  items: readonly Priced[],
  stored: () => Promise<readonly Priced[]> = async () => [],
): Promise<void> {
  const sold: Sold[] = []
  for (const { name, price: id, every, isSold } of items) {
    if (id === null) continue
    const price = await priceAt(provider, id)
    const problem = problemOf(id, price, every)
    if (problem) throw new AppError('invalid_request', `"${name}" cannot be sold: ${problem}.`)
    if (price && isSold) sold.push({ name, id, currency: price.currency })
  }
  const [first] = sold
  if (!first) return
  const isReplaced = (it: Priced) => items.some(({ name, every }) => name === it.name && !every === !it.every)
  const before = (await stored()).filter((it) => it.isSold && it.price !== null && !isReplaced(it))
  const other = sold.find(({ currency }) => currency !== first.currency) ?? (await soldIn(provider, before))
  if (!other || other.currency === first.currency) return
  throw new AppError(
    'invalid_request',
    `"${first.name}" cannot be sold: ${first.id} is in ${first.currency}, and "${other.name}" is sold in ${other.currency}, but who has paid in one currency cannot pay in another; name prices of one currency, or retire the other first.`,
  )
}

interface Sold {
  readonly name: string
  readonly id: string
  readonly currency: string
}

/** The first that the provider still has: all others have its currency. */
async function soldIn(provider: Pick<PaymentProvider, 'price'>, stored: readonly Priced[]): Promise<Sold | undefined> {
  for (const { name, price: id } of stored) {
    const price = id === null ? undefined : await priceAt(provider, id)
    if (price) return { name, id: price.id, currency: price.currency }
  }
  return undefined
}

/** @throws unavailable */
const priceAt = (provider: Pick<PaymentProvider, 'price'>, id: string): Promise<Price | undefined> =>
  provider.price(id).catch((error: unknown) => {
    if (!(error instanceof PaymentProviderFailure)) throw error
    throw new AppError(
      'unavailable',
      `The payment provider could not say whether there is the price ${id}: ${error.message}`,
    )
  })

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
  (provider: Pick<PaymentProvider, 'price'> | undefined, stored: () => Promise<readonly Priced[]>): RequirePrices =>
  async (items) => {
    if (provider) await requirePrices(provider, items, stored)
  }
