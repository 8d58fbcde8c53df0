/** What people buy on the website. */
import type { Plan } from '../accounts/plan.js'
import { AppError } from '../errors.js'
import type { Log } from '../log.js'
import type { CreditPack } from './credit-pack.js'
import type { BillingCustomers } from './customers.js'
import type { CheckoutOrder, PaidSubscription, PayingAccount, PaymentProvider, Price } from './payment-provider.js'
import { priceList } from './price-list.js'

/** Something for sale, at what it costs. */
export interface Offer<T> {
  readonly item: T
  readonly price: Price
}

export interface Offers {
  readonly plans: readonly Offer<Plan>[]
  readonly packs: readonly Offer<CreditPack>[]
}

/** The subscription that an account pays for. */
export interface OwnSubscription extends Pick<PaidSubscription, 'status' | 'paidUntil' | 'endsAt'> {
  /** Null: its price is none of a plan. */
  readonly plan: string | null
}

export interface ShopPorts {
  readonly provider: Pick<PaymentProvider, 'price' | 'createCustomer' | 'checkout' | 'portal'>
  readonly customers: BillingCustomers
  readonly plans: { list(): Promise<readonly Plan[]> }
  readonly packs: { list(): Promise<readonly CreditPack[]> }
  readonly own: {
    /** Undefined: there is none, it was never paid for, or it has ended. */
    subscription(accountId: string): Promise<OwnSubscription | undefined>
  }
  readonly log: Log
}

/** Absolute URLs of the service, to which the provider leads people back. */
interface Pages {
  readonly returnTo: string
  readonly cancelTo: string
}

const AWAY = 'The payment provider cannot do this right now, and nothing was charged. Try again in a minute.'
const PLAN_GONE = 'This plan is not for sale any more: choose another one.'
const PACK_GONE = 'This pack of credits is not for sale any more: choose another one.'
const NO_CUSTOMER = 'You have paid nothing here yet, so there is nothing to manage.'
/** Longer than anybody waits for a page. */
const ANSWER_MS = 12_000

export function shop(ports: ShopPorts) {
  const { provider, customers, log } = ports
  const prices = priceList(provider, log)

  /** Undefined: the provider does not tell what things cost now. */
  async function offers(): Promise<Offers | undefined> {
    const [plans, packs] = await Promise.all([ports.plans.list(), ports.packs.list()])
    const sold = plans.filter(({ forSale, retiredAt, price }) => forSale && !retiredAt && price !== null)
    const packed = packs.filter(({ retiredAt }) => !retiredAt)
    const known = await prices([...sold, ...packed].map(({ price }) => price as string))
    if (!known) return undefined
    const offersOf = <T extends { readonly price: string | null }>(items: readonly T[]) =>
      items.flatMap((item) => {
        const price = known.get(item.price as string)
        return price ? [{ item, price }] : []
      })
    return { plans: offersOf(sold), packs: offersOf(packed) }
  }

  /** @throws unavailable */
  async function asked<T>(work: () => Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('no answer in time')), ANSWER_MS)
    })
    try {
      return await Promise.race([work(), late])
    } catch (err) {
      log.warn({ err }, 'the payment provider refused, or was away')
      throw new AppError('unavailable', AWAY, {}, { cause: err })
    } finally {
      clearTimeout(timer)
    }
  }

  async function required(): Promise<Offers> {
    const found = await offers()
    if (!found) throw new AppError('unavailable', AWAY)
    return found
  }

  async function checkout(
    account: PayingAccount,
    order: Omit<CheckoutOrder, 'customer' | 'accountId'>,
  ): Promise<string> {
    const known = await customers.of(account.id)
    const customer = known ?? (await asked(() => provider.createCustomer(account)))
    if (!known) await customers.remember(account.id, customer)
    return asked(() => provider.checkout({ ...order, customer, accountId: account.id }))
  }

  /** The provider's page where an account changes or cancels what it pays for. @throws AppError */
  async function manage({ id }: Pick<PayingAccount, 'id'>, returnTo: string): Promise<string> {
    const customer = await customers.of(id)
    if (!customer) throw new AppError('invalid_request', NO_CUSTOMER)
    const { plans } = await required()
    return asked(() => provider.portal(customer, { returnTo, prices: plans.map(({ price }) => price.id) }))
  }

  return {
    offers,
    manage,
    subscription: ports.own.subscription,

    /** Whether the account has ever gone to pay. */
    isCustomer: async (accountId: string) => (await customers.of(accountId)) !== undefined,

    /**
     * The provider's page where an account pays for a plan; where it pays for one already, the page where it changes it.
     * @throws AppError with one sentence
     */
    async buyPlan(account: PayingAccount, name: string, { returnTo, cancelTo }: Pages): Promise<string> {
      if (await ports.own.subscription(account.id)) return manage(account, cancelTo)
      const offer = (await required()).plans.find(({ item }) => item.name === name)
      if (!offer) throw new AppError('invalid_request', PLAN_GONE)
      return checkout(account, { item: { plan: name }, price: offer.price.id, returnTo, cancelTo })
    },

    /** The provider's page where an account pays for a pack. @throws AppError with one sentence */
    async buyPack(account: PayingAccount, name: string, { returnTo, cancelTo }: Pages): Promise<string> {
      const offer = (await required()).packs.find(({ item }) => item.name === name)
      if (!offer) throw new AppError('invalid_request', PACK_GONE)
      const { credits } = offer.item
      return checkout(account, { item: { pack: name, credits }, price: offer.price.id, returnTo, cancelTo })
    },
  }
}

export type Shop = ReturnType<typeof shop>
