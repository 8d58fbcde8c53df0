/** What people buy on the website. */
import type { Plan } from '../accounts/plan.js'
import { AppError } from '../errors.js'
import type { Log } from '../log.js'
import type { CreditPack } from './credit-pack.js'
import type { BillingCustomers } from './customers.js'
import {
  type CheckoutOrder,
  type FailureReason,
  type PaidSubscription,
  type PayingAccount,
  type PaymentProvider,
  PaymentProviderFailure,
  type PortalPage,
  type Price,
} from './payment-provider.js'
import type { PaymentFaults } from './ports.js'
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
  /** To which plan it is to change at `nextAt`; null: to none that is known. */
  readonly nextPlan: string | null
  readonly nextAt: Date | null
  readonly customer: string
}

export interface ShopPorts {
  readonly provider: Pick<PaymentProvider, 'price' | 'createCustomer' | 'tellCustomer' | 'checkout' | 'portal'>
  readonly customers: BillingCustomers
  readonly plans: { list(): Promise<readonly Plan[]> }
  readonly packs: { list(): Promise<readonly CreditPack[]> }
  readonly own: {
    /** Undefined: there is none, it was never paid for, it has ended, or the provider does not have it any more. */
    subscription(accountId: string): Promise<OwnSubscription | undefined>
    /** The names of packs whose money is on its way; undefined: the account has never gone to pay. */
    packsUnderway(accountId: string): Promise<readonly string[] | undefined>
  }
  readonly faults: PaymentFaults
  readonly log: Log
}

/** Absolute URLs of the service, to which the provider leads people back, and the language of its pages. */
type Pages = Pick<CheckoutOrder, 'returnTo' | 'cancelTo' | 'language'>

const AWAY = 'The payment provider cannot do this right now, and nothing was charged. Try again in a minute.'
const PLAN_GONE = 'This plan is not for sale any more: choose another one.'
const PACK_GONE = 'This pack of credits is not for sale any more: choose another one.'
const OTHER_CURRENCY =
  'This is sold in another currency than what you have paid for here: choose something else, or write to who runs this site.'
const REFUSED =
  'The payment provider refuses this, and nothing was charged. Trying again will not help: write to who runs this site.'
const NO_CUSTOMER = 'You have paid nothing here yet, so there is nothing to manage.'
/** Longer than anybody waits for a page. */
const ANSWER_MS = 12_000

export function shop(ports: ShopPorts) {
  const { provider, customers, log } = ports
  const note = (key: string, sentence: string) =>
    ports.faults.note({ key, sentence }).catch((err) => log.warn({ err }, 'a fault with payment could not be noted'))
  const prices = priceList(provider, log, (price) => {
    const mend = 'make one there, or import the plan or the pack with the ID of another one'
    return note(
      `price ${price}`,
      `What is sold at ${price} is not shown, as the payment provider has no active price of this ID with a fixed amount: ${mend}.`,
    )
  })

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

  /** @param gone says that the price cannot be paid any more @throws AppError with one sentence, or a failure that is `subscribed` */
  async function asked<T>(work: () => Promise<T>, gone = REFUSED): Promise<T> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('no answer in time')), ANSWER_MS)
    })
    try {
      return await Promise.race([work(), late])
    } catch (err) {
      log.warn({ err }, 'the payment provider refused, or was away')
      const reason: FailureReason = err instanceof PaymentProviderFailure ? err.reason : 'away'
      if (reason === 'away') throw new AppError('unavailable', AWAY, {}, { cause: err })
      if (reason === 'subscribed') throw err
      const { message } = err as Error
      await note(
        `refused ${message}`,
        `The payment provider refused what somebody wanted to buy or to manage: ${message}`,
      )
      if (reason === 'no_price') throw new AppError('invalid_request', gone)
      if (reason === 'other_currency') throw new AppError('invalid_request', OTHER_CURRENCY)
      throw new AppError('unavailable', REFUSED, {}, { cause: err })
    } finally {
      clearTimeout(timer)
    }
  }

  async function required(): Promise<Offers> {
    const found = await offers()
    if (!found) throw new AppError('unavailable', AWAY)
    return found
  }

  /** The first of an account's customers that the provider has: others are of a sandbox, or were deleted there. */
  const customerAmong = (account: PayingAccount, known: readonly string[]): Promise<string | undefined> =>
    asked(async () => {
      for (const customer of known) if (await provider.tellCustomer(customer, account)) return customer
      return undefined
    })

  async function newCustomer(account: PayingAccount, known: readonly string[]): Promise<string> {
    const made = await asked(() => provider.createCustomer(account))
    await customers.remember(account.id, made)
    // Of two servers that make one at once, both go on with the same.
    return (await customers.all(account.id)).find((it) => !known.includes(it)) ?? made
  }

  async function checkout(
    account: PayingAccount,
    order: Omit<CheckoutOrder, 'customer' | 'accountId'>,
    gone: string,
  ): Promise<string> {
    const known = await customers.all(account.id)
    const customer = (await customerAmong(account, known)) ?? (await newCustomer(account, known))
    return asked(() => provider.checkout({ ...order, customer, accountId: account.id }), gone)
  }

  /** The provider's page where a customer changes or cancels what it pays for. */
  async function portalOf(customer: string, page: Pick<PortalPage, 'returnTo' | 'language'>): Promise<string> {
    const { plans } = await required()
    return asked(() => provider.portal(customer, { ...page, prices: plans.map(({ price }) => price.id) }))
  }

  /** The same for an account. @throws AppError */
  async function manage(account: PayingAccount, page: Pick<PortalPage, 'returnTo' | 'language'>): Promise<string> {
    const customer = await customerAmong(account, await customers.all(account.id))
    if (customer === undefined) throw new AppError('invalid_request', NO_CUSTOMER)
    return portalOf(customer, page)
  }

  return {
    offers,
    manage,
    subscription: ports.own.subscription,
    packsUnderway: ports.own.packsUnderway,

    /**
     * The provider's page where an account pays for a plan; where it pays for one already, the page where it changes it.
     * @throws AppError with one sentence
     */
    async buyPlan(account: PayingAccount, name: string, pages: Pages): Promise<string> {
      const { cancelTo: returnTo, language } = pages
      const page = { returnTo, ...(language !== undefined && { language }) }
      const own = await ports.own.subscription(account.id)
      const payer = own && (await customerAmong(account, [own.customer]))
      if (payer !== undefined) return portalOf(payer, page)
      const offer = (await required()).plans.find(({ item }) => item.name === name)
      if (!offer) throw new AppError('invalid_request', PLAN_GONE)
      try {
        return await checkout(account, { item: { plan: name }, price: offer.price.id, ...pages }, PLAN_GONE)
      } catch (error) {
        // It was paid so lately that nobody here knows it.
        if (error instanceof PaymentProviderFailure && error.reason === 'subscribed') return manage(account, page)
        throw error
      }
    },

    /** The provider's page where an account pays for a pack. @throws AppError with one sentence */
    async buyPack(account: PayingAccount, name: string, pages: Pages): Promise<string> {
      const offer = (await required()).packs.find(({ item }) => item.name === name)
      if (!offer) throw new AppError('invalid_request', PACK_GONE)
      const { credits } = offer.item
      return checkout(account, { item: { pack: name, credits }, price: offer.price.id, ...pages }, PACK_GONE)
    },
  }
}

export type Shop = ReturnType<typeof shop>
