import type { ComponentChildren } from 'preact'
import type { Plan } from '../../core/accounts/plan.js'
import type { CreditPack } from '../../core/billing/credit-pack.js'
import type { Offer } from '../../core/billing/shop.js'
import { useTexts } from '../texts/texts.js'

interface PlanOfferProps {
  readonly offer: Offer<Plan>
  /** How to get it. */
  readonly children?: ComponentChildren
}

export const PlanOffer = ({ offer: { item: plan, price }, children }: PlanOfferProps) => {
  const { money, billing } = useTexts()
  const { offer: words } = billing
  return (
    <li class="card offer">
      <h3>
        <bdi>{plan.name}</bdi>
      </h3>
      <p>
        <b>{money(price)}</b> <span class="quiet">{words.per(plan.period)}</span>
        {price.isNet && <span class="quiet"> {words.plusTax}</span>}
      </p>
      <ul class="small">
        <li>{words.creditsPer(plan.credits, plan.period)}</li>
        <li>{words.left(plan.carryOver, plan.period)}</li>
        {plan.signUpCredits > 0 && <li>{words.atStart(plan.signUpCredits)}</li>}
        <li>{words.models(plan.models?.length ?? null)}</li>
      </ul>
      {children}
    </li>
  )
}

interface PackOfferProps {
  readonly offer: Offer<CreditPack>
  readonly children?: ComponentChildren
}

export const PackOffer = ({ offer: { item: pack, price }, children }: PackOfferProps) => {
  const { money, credits, billing } = useTexts()
  return (
    <li class="card offer">
      <h3>
        <bdi>{pack.name}</bdi>
      </h3>
      <p>
        <b>{money(price)}</b> <span class="quiet">{billing.offer.once}</span>
        {price.isNet && <span class="quiet"> {billing.offer.plusTax}</span>}
      </p>
      <ul class="small">
        <li>{credits(pack.credits)}</li>
        <li>{billing.offer.neverExpire}</li>
      </ul>
      {children}
    </li>
  )
}
