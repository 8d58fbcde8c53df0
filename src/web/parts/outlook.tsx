import type { CurrentPeriod } from '../../core/accounts/plan.js'
import { counted, Moment, number } from './text.js'

/** What the end of the period takes, and what comes then. */
export const Outlook = ({ of: { period, plan, expires, follows } }: { of: CurrentPeriod }) => (
  <>
    {expires > 0 && (
      <p class="small">
        {number(expires)} of them {expires === 1 ? 'expires' : 'expire'} on <Moment at={period.end} only="date" />, and{' '}
        {expires === 1 ? 'is' : 'are'} spent first.
      </p>
    )}
    <p class="small">
      On <Moment at={period.end} only="date" />{' '}
      {follows === 0 ? 'no more credits come' : `you get ${counted(follows, 'credit')}`}; {leftAt(plan)}.
    </p>
  </>
)

const leftAt = ({ carryOver, period }: CurrentPeriod['plan']) =>
  carryOver === null
    ? `what is left of this ${period}’s stays`
    : carryOver === 0
      ? `what is left of this ${period}’s expires`
      : `of what is left of your plan’s credits, ${number(carryOver)} stay`
