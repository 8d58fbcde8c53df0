import type { ComponentChildren } from 'preact'
import type { Plan } from '../../core/accounts/plan.js'
import type { CreditPack } from '../../core/billing/credit-pack.js'
import type { Offer } from '../../core/billing/shop.js'
import { money } from './money.js'
import { counted, number } from './text.js'

interface PlanOfferProps {
  readonly offer: Offer<Plan>
  /** How to get it. */
  readonly children?: ComponentChildren
}

export const PlanOffer = ({ offer: { item: plan, price }, children }: PlanOfferProps) => (
  <li class="card offer">
    <h3>
      <bdi>{plan.name}</bdi>
    </h3>
    <p>
      <b>{money(price)}</b> <span class="quiet">a {plan.period}</span>
    </p>
    <ul class="small">
      <li>
        {counted(plan.credits, 'credit')} a {plan.period}
      </li>
      <li>{leftAt(plan)}</li>
      {plan.signUpCredits > 0 && <li>{counted(plan.signUpCredits, 'credit')} more at the start, once</li>}
      <li>{plan.models === null ? 'All models' : counted(plan.models.length, 'model version')}</li>
    </ul>
    {children}
  </li>
)

const leftAt = ({ carryOver, period }: Plan) =>
  carryOver === null
    ? 'What you do not spend stays'
    : carryOver === 0
      ? `What is left at the end of the ${period} expires`
      : `Of what is left, ${number(carryOver)} stay`

interface PackOfferProps {
  readonly offer: Offer<CreditPack>
  readonly children?: ComponentChildren
}

export const PackOffer = ({ offer: { item: pack, price }, children }: PackOfferProps) => (
  <li class="card offer">
    <h3>
      <bdi>{pack.name}</bdi>
    </h3>
    <p>
      <b>{money(price)}</b> <span class="quiet">once</span>
    </p>
    <ul class="small">
      <li>{counted(pack.credits, 'credit')}</li>
      <li>They never expire</li>
    </ul>
    {children}
  </li>
)
