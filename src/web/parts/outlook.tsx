import type { CurrentPeriod } from '../../core/accounts/plan.js'
import { useTexts } from '../texts/texts.js'
import { Moment } from './text.js'

/** What the end of the period takes, and what comes then. */
export const Outlook = ({ of: { period, plan, expires, follows } }: { of: CurrentPeriod }) => {
  const { outlook } = useTexts().billing
  const end = <Moment at={period.end} only="date" />
  return (
    <>
      {expires > 0 && <p class="small">{outlook.expires(expires, end)}</p>}
      <p class="small">{outlook.next(end, follows, plan.carryOver, plan.period)}</p>
    </>
  )
}
