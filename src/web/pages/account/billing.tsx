import type { Offers, OwnSubscription } from '../../../core/billing/shop.js'
import { PackOffer, PlanOffer } from '../../parts/offers.js'
import { Moment } from '../../parts/text.js'

export interface BillingView {
  /** Undefined: what things cost is not known now. */
  readonly offers: Offers | undefined
  /** What the account pays for. */
  readonly own: OwnSubscription | undefined
  /** Whether the provider has a page for the account. */
  readonly isCustomer: boolean
  /** What was paid just now, if it has not been confirmed. */
  readonly unconfirmed: 'plan' | 'pack' | undefined
  /** Whether it takes longer than usual. */
  readonly isLate: boolean
}

/** Plans and packs to buy, and the way to what was bought. */
export const Billing = ({ offers, own, isCustomer, ...paid }: BillingView) => (
  <section id="buy" class="stack billing" aria-labelledby="buy-title">
    <h2 id="buy-title">{own ? 'Your subscription' : 'Plans'}</h2>
    <Unconfirmed {...paid} />
    {own && <Own of={own} />}
    {(own || isCustomer) && (
      <form method="post" action="/account/billing">
        <button class={own ? 'primary' : undefined} type="submit">
          {own ? 'Change or cancel, cards, invoices' : 'Invoices and cards'}
        </button>
      </form>
    )}
    {offers ? (
      <>
        {/* Not while one is being paid: it would be paid twice. */}
        {!own && paid.unconfirmed !== 'plan' && (
          <ul class="offers">
            {offers.plans.map((offer) => (
              <PlanOffer key={offer.item.name} offer={offer}>
                <Choose what="plan" name={offer.item.name} button="Choose" />
              </PlanOffer>
            ))}
          </ul>
        )}
        {!own && offers.plans.length === 0 && <p class="empty">No plan is for sale now.</p>}
        {offers.packs.length > 0 && (
          <>
            <h2 class="next">More credits</h2>
            {!own && <p class="quiet small">Images need an active plan; credits that you buy wait for one.</p>}
            <ul class="offers">
              {offers.packs.map((offer) => (
                <PackOffer key={offer.item.name} offer={offer}>
                  <Choose what="pack" name={offer.item.name} button="Buy" />
                </PackOffer>
              ))}
            </ul>
          </>
        )}
      </>
    ) : (
      <p class="problem">What things cost cannot be shown right now. Load this page again in a minute.</p>
    )}
  </section>
)

const Choose = ({ what, name, button }: { what: 'plan' | 'pack'; name: string; button: string }) => (
  <form method="post" action={`/account/billing/${what}`}>
    <input type="hidden" name="name" value={name} />
    <button class="primary" type="submit">
      {button}
      <bdi class="hidden-visually"> {name}</bdi>
    </button>
  </form>
)

const Unconfirmed = ({ unconfirmed, isLate }: Pick<BillingView, 'unconfirmed' | 'isLate'>) =>
  unconfirmed && (
    <p class="done" role="status">
      {isLate
        ? 'Your payment is not confirmed yet. Some banks take days: what you bought comes by itself when the money is there.'
        : 'Thank you. Your payment is being confirmed, which takes a few seconds; this page loads itself again.'}
    </p>
  )

const Own = ({ of: { plan, status, paidUntil, endsAt } }: { of: OwnSubscription }) => (
  <p>
    <b>{plan ? <bdi>{plan}</bdi> : 'A plan that is not known here'}</b>:{' '}
    {status === 'paused' ? (
      'paused. Nothing is collected, and no credits come.'
    ) : status === 'past_due' || status === 'unpaid' ? (
      <span class="bad">the last payment failed. Give another card, or the plan ends on the date above.</span>
    ) : endsAt ? (
      <>
        ends on <Moment at={endsAt} only="date" />.
      </>
    ) : (
      <>
        paid until <Moment at={paidUntil} only="date" />, then it renews.
      </>
    )}
  </p>
)
