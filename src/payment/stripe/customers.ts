/** What Stripe is told of accounts. */
import { createHash, randomUUID } from 'node:crypto'
import type Stripe from 'stripe'
import type { PayingAccount } from '../../core/billing/payment-provider.js'
import { ACCOUNT, orNone } from './stripe-state.js'

/** In the metadata of a customer: by which address it was told of the account. Somebody else may have set another one since. */
const TOLD = 'easel_email'
const NO_EMAIL = 'none'

const toldOf = (email: string | null) =>
  email === null ? NO_EMAIL : createHash('sha256').update(email.toLowerCase()).digest('hex').slice(0, 16)

export function stripeCustomers(stripe: Stripe) {
  /**
   * Under which key an account's customer is being made. Stripe repeats for a day what it has answered to a key, a fault of
   * its own and a customer that was deleted since, too: so an answer ends the key, and only a lost one is asked for again.
   */
  const keys = new Map<string, string>()

  async function update(id: string, changes: Stripe.CustomerUpdateParams): Promise<void> {
    try {
      await stripe.customers.update(id, changes)
    } catch (error) {
      // Nobody shall be unable to pay because Stripe takes no mail address like theirs.
      if ((error as { code?: unknown }).code !== 'email_invalid') throw error
      const { email: _, ...others } = changes
      await stripe.customers.update(id, others)
    }
  }

  return {
    async create(account: PayingAccount): Promise<string> {
      const { id, username, email, language } = account
      const key = keys.get(id) ?? randomUUID()
      keys.set(id, key)
      try {
        // The same request each time: Stripe refuses a key that comes with another one.
        const made = await stripe.customers.create(
          { metadata: { [ACCOUNT]: id } },
          { idempotencyKey: `easel-customer-${key}` },
        )
        if (!made.id) throw new Error('Stripe answered without a customer')
        await update(made.id, {
          ...(username !== null && { name: username }),
          ...(email !== null && { email }),
          ...(language && { preferred_locales: [language] }),
          metadata: { [TOLD]: toldOf(email) },
        })
        keys.delete(id)
        return made.id
      } catch (error) {
        if (isAnswer(error)) keys.delete(id)
        throw error
      }
    },

    /** False: Stripe has no such customer. */
    async tell(id: string, account: PayingAccount): Promise<boolean> {
      const found = await orNone(stripe.customers.retrieve(id))
      if (!found || found.deleted) return false
      const changes = changesOf(found, account)
      if (Object.keys(changes).length > 0) await update(id, changes)
      return true
    },
  }
}

/** Not a connection that was lost, nor that the same request is still at work. */
const isAnswer = (error: unknown): boolean => {
  const { statusCode } = error as { statusCode?: unknown }
  return typeof statusCode === 'number' && statusCode !== 409
}

function changesOf(found: Stripe.Customer, account: PayingAccount): Stripe.CustomerUpdateParams {
  const { email, language } = account
  const isMadeByUs = found.metadata[ACCOUNT] === account.id
  const { [TOLD]: told } = found.metadata
  const now = toldOf(email)
  // Of the first time only what we have made is changed: who paid elsewhere has given the address there.
  const isNews = told === undefined ? isMadeByUs : told !== now
  const isGone = account.username === null && isMadeByUs
  // An address that somebody else has set is replaced, and removed only with the account.
  const isToSet = isGone || (isNews && (email !== null || told === toldOf(found.email)))
  return {
    ...(isToSet && email !== found.email && { email: email ?? '' }),
    ...(told !== now && { metadata: { [TOLD]: now } }),
    ...(language && found.preferred_locales?.[0] !== language && { preferred_locales: [language] }),
    // The name is Stripe's to change: of a company, on its invoices.
    ...(isGone && found.name && { name: '' }),
  }
}
