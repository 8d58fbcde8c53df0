import type { Offers, OwnSubscription } from '../../../core/billing/shop.js'
import { PackOffer, PlanOffer } from '../../parts/offers.js'
import { Moment } from '../../parts/text.js'
import { useTexts } from '../../texts/texts.js'

export interface BillingView {
  /** Undefined: what things cost is not known now. */
  readonly offers: Offers | undefined
  /** What the account pays for. */
  readonly own: OwnSubscription | undefined
  /** The names of packs whose money is on its way. */
  readonly underway: readonly string[]
  /** Whether the provider has a page for the account. */
  readonly isCustomer: boolean
  /** What was paid just now, if it has not been confirmed. */
  readonly unconfirmed: 'plan' | 'pack' | undefined
  /** Whether it takes longer than usual. */
  readonly isLate: boolean
}

/** Plans and packs to buy, and the way to what was bought. @param isOver the account's subscription has ended */
export const Billing = ({
  offers,
  own,
  underway,
  isCustomer,
  isOver,
  ...paid
}: BillingView & { readonly isOver: boolean }) => {
  const { billing } = useTexts()
  const { own: words } = billing
  return (
    <section id="buy" class="stack billing" aria-labelledby="buy-title">
      <h2 id="buy-title">{own ? words.title : billing.plans}</h2>
      <Unconfirmed {...paid} />
      {own && <Own of={own} isOver={isOver} />}
      {(own || isCustomer) && (
        <form method="post" action="/account/billing">
          <button class={own ? 'primary' : undefined} type="submit">
            {own ? words.manage : words.invoices}
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
                  <Choose what="plan" name={offer.item.name} button={words.choose} />
                </PlanOffer>
              ))}
            </ul>
          )}
          {!own && offers.plans.length === 0 && <p class="empty">{billing.noPlans}</p>}
          {offers.packs.length > 0 && (
            <>
              <h2 class="next">{billing.moreCredits}</h2>
              {underway.map((pack) => (
                <p>
                  <b>
                    <bdi>{pack}</bdi>
                  </b>
                  : {words.underway}
                </p>
              ))}
              {!own && <p class="quiet small">{words.needPlan}</p>}
              <ul class="offers">
                {offers.packs.map((offer) => (
                  <PackOffer key={offer.item.name} offer={offer}>
                    <Choose what="pack" name={offer.item.name} button={words.buy} />
                  </PackOffer>
                ))}
              </ul>
            </>
          )}
        </>
      ) : (
        <p class="problem">{billing.unknownPrices}</p>
      )}
    </section>
  )
}

const Choose = ({ what, name, button }: { what: 'plan' | 'pack'; name: string; button: string }) => (
  <form method="post" action={`/account/billing/${what}`}>
    <input type="hidden" name="name" value={name} />
    <button class="primary" type="submit">
      {button}
      <bdi class="hidden-visually"> {name}</bdi>
    </button>
  </form>
)

const Unconfirmed = ({ unconfirmed, isLate }: Pick<BillingView, 'unconfirmed' | 'isLate'>) => {
  const { own: words } = useTexts().billing
  return unconfirmed ? (
    <p class="done" role="status">
      {isLate ? words.isLate : words.isNew}
    </p>
  ) : null
}

interface OwnProps {
  readonly of: OwnSubscription
  readonly isOver: boolean
}

const Own = ({ of: { plan, status, paidUntil, endsAt, nextPlan, nextAt }, isOver }: OwnProps) => {
  const { own: words } = useTexts().billing
  return (
    <p>
      <b>{plan ? <bdi>{plan}</bdi> : words.unknownPlan}</b>:{' '}
      {status === 'paused' ? (
        words.paused
      ) : status === 'past_due' || status === 'unpaid' ? (
        <span class="bad">{isOver ? words.failedAndOver : words.failed}</span>
      ) : status === 'pending' ? (
        words.underway
      ) : endsAt ? (
        words.ends(<Moment at={endsAt} only="date" />)
      ) : nextPlan && nextAt ? (
        words.changes(<bdi>{nextPlan}</bdi>, <Moment at={nextAt} only="date" />)
      ) : (
        words.renews(<Moment at={paidUntil} only="date" />)
      )}
    </p>
  )
}
