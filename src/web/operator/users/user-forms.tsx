import type { Subscription } from '../../../core/accounts/account.js'
import type { CurrentPeriod } from '../../../core/accounts/plan.js'
import type { OwnSubscription } from '../../../core/billing/shop.js'
import type { AdministeredAccount } from '../../../core/operator/accounts.js'
import { LARGE_GRANT } from '../../../core/operator/credits.js'
import { MAX_REASON_LENGTH } from '../../../core/operator/operator-actions.js'
import type { ListedPlan } from '../../../core/operator/plans.js'
import { MAX_EMAIL_LENGTH } from '../../../lib/email-address.js'
import { Act, ReasonField, UnlistedTick } from '../../parts/operator-forms.js'
import { Fact, Field, StatusBadge } from '../../parts/page-parts.js'
import { counted, Moment, number } from '../../parts/text.js'

export interface CreditValues {
  readonly amount: string
  readonly reason: string
  /** Works once, however often the form is sent. */
  readonly ref: string
  /** `yes`: the balance may fall below 0. */
  readonly below_zero: string
}

interface CreditFormProps {
  readonly path: string
  readonly values: CreditValues
}

export const GrantForm = ({ path, values }: CreditFormProps) => (
  <form class="card stack" method="post" action={`${path}/credits`} aria-labelledby="grant">
    <h2 id="grant">Grant credits</h2>
    <CreditFields values={values} of="" min={1} />
    <button class="primary" type="submit">
      Grant credits
    </button>
  </form>
)

export const CorrectForm = ({ path, values }: CreditFormProps) => (
  <form class="card stack" method="post" action={`${path}/credits/correct`} aria-labelledby="correct">
    <h2 id="correct">Correct credits</h2>
    <CreditFields values={values} of="correct-" min={-Number.MAX_SAFE_INTEGER} hint="Below 0 to take credits." />
    <label class="row">
      <input name="below_zero" type="checkbox" value="yes" checked={values.below_zero === 'yes'} /> Let the balance fall
      below 0
    </label>
    <button type="submit">Correct credits</button>
  </form>
)

interface CreditFieldsProps {
  readonly values: CreditValues
  /** What the IDs begin with. */
  readonly of: string
  readonly min: number
  readonly hint?: string
}

const CreditFields = ({ values, of, min, hint }: CreditFieldsProps) => (
  <>
    <input type="hidden" name="ref" value={values.ref} />
    <Field
      id={`${of}amount`}
      name="amount"
      label="Amount"
      type="number"
      inputmode={min < 0 ? undefined : 'numeric'}
      min={min}
      max={Number.MAX_SAFE_INTEGER}
      step={1}
      value={values.amount}
      required
      hint={hint}
    />
    <Field
      id={`${of}reason`}
      name="reason"
      label="Reason"
      value={values.reason}
      maxlength={MAX_REASON_LENGTH}
      required
      hint="The user sees it in their credit history."
    />
    {Math.abs(Number(values.amount)) > LARGE_GRANT && (
      <label class="row">
        <input name="meant" type="checkbox" value="yes" /> I mean more than {number(LARGE_GRANT)} credits
      </label>
    )}
  </>
)

const STATUSES = ['active', 'past_due', 'canceled']

interface SubscriptionCardProps {
  readonly path: string
  readonly subscription: Subscription | null
  readonly current: CurrentPeriod | undefined
  /** What the account pays for, where something is sold. */
  readonly paid: OwnSubscription | undefined
  /** Those that a subscription may begin. */
  readonly plans: readonly ListedPlan[]
}

export const SubscriptionCard = ({ path, subscription, current, paid, plans }: SubscriptionCardProps) => {
  // `expired` cannot be chosen: with a later end the subscription is active again.
  const status = subscription && subscription.status !== 'expired' ? subscription.status : 'active'
  return (
    <section class="card stack" aria-labelledby="subscription">
      <h2 id="subscription">Subscription</h2>
      {current && <RunningPeriod of={current} />}
      {paid && <Paid of={paid} />}
      <form class="stack" method="post" action={`${path}/subscription`}>
        <Field
          id="plan"
          label="Plan"
          value={subscription?.plan ?? ''}
          maxlength={100}
          required
          autocomplete="off"
          list="plans"
        />
        <datalist id="plans">
          {plans.map(({ name }) => (
            <option value={name} />
          ))}
        </datalist>
        {plans.length > 0 && <UnlistedTick />}
        <div class="pair">
          <div class="field">
            <label for="status">Status</label>
            <select id="status" name="status">
              {[...new Set([...STATUSES, status])].map((it) => (
                <option value={it} selected={it === status}>
                  {it.replaceAll('_', ' ')}
                </option>
              ))}
            </select>
          </div>
          <Field
            id="end-date"
            label="Ends"
            name="end_date"
            type="date"
            value={subscription?.endDate.toISOString().slice(0, 10)}
          />
        </div>
        {!subscription && <p class="quiet small">Without a date it ends in one year.</p>}
        <ReasonField id="why-subscription" label="Why" />
        <button type="submit">{subscription ? 'Save subscription' : 'Begin subscription'}</button>
      </form>
      {subscription && (
        <Act
          id="why-unsubscribe"
          action={`${path}/subscription/remove`}
          name="Take away"
          button="Take the subscription away"
        />
      )}
    </section>
  )
}

const Paid = ({ of: { status, paidUntil, endsAt } }: { of: OwnSubscription }) => (
  <>
    <dl class="facts">
      <Fact name="Payment">
        <StatusBadge status={status} />
      </Fact>
      <Fact name="Paid until">
        <Moment at={paidUntil} only="date" />
      </Fact>
      {endsAt && (
        <Fact name="Canceled for">
          <Moment at={endsAt} only="date" />
        </Fact>
      )}
    </dl>
    <p class="quiet small">What is paid next changes this subscription again: cancel or change it at the provider.</p>
  </>
)

const RunningPeriod = ({ of: { period, expires, follows } }: { of: CurrentPeriod }) => (
  <dl class="facts">
    <Fact name="Period">
      <Moment at={period.start} only="date" /> to <Moment at={period.end} only="date" />
    </Fact>
    <Fact name="Granted in it">{period.credits === null ? 'Nothing' : counted(period.credits, 'credit')}</Fact>
    <Fact name="Expire at its end">{counted(expires, 'credit')}</Fact>
    <Fact name="Granted next">{counted(follows, 'credit')}</Fact>
  </dl>
)

export const AccountCard = ({
  path,
  account,
  isOwn,
}: {
  path: string
  account: AdministeredAccount
  isOwn: boolean
}) => {
  const { id, username, email, role, roleFromGroup, deletedAt } = account
  const otherRole = role === 'operator' ? 'subscriber' : 'operator'
  const makeOther = otherRole === 'operator' ? 'Make operator' : 'Make subscriber'
  return (
    <section class="card stack" aria-labelledby="account">
      <h2 id="account">Account</h2>
      <dl class="facts">
        <Fact name="ID">
          <code>{id}</code>
        </Fact>
        <Fact name="Email">{email ? <bdi>{email}</bdi> : 'None'}</Fact>
        <Fact name="Role">
          {role === 'operator' && roleFromGroup ? `${role}, by a group of the identity provider` : role}
        </Fact>
        {deletedAt && (
          <Fact name="Deleted">
            <Moment at={deletedAt} />
          </Fact>
        )}
      </dl>
      {deletedAt ? (
        <p class="quiet small">
          <code>{`easel user delete ${username} --purge`}</code> also wipes prompts and images.
        </p>
      ) : (
        <Act id="why-email" action={`${path}/email`} name="Change email" button="Change email">
          <Field
            id="email"
            label="Email"
            type="email"
            value={email ?? ''}
            maxlength={MAX_EMAIL_LENGTH}
            autocomplete="off"
          />
        </Act>
      )}
      {!deletedAt && !isOwn && (
        <>
          <Act id="why-role" action={`${path}/role`} name={makeOther} button={makeOther}>
            <input type="hidden" name="role" value={otherRole} />
          </Act>
          <Act id="why-delete" action={`${path}/delete`} name="Delete account" button="Delete account">
            <p class="small">
              Keys and sessions stop working, active generations are canceled and given back. What was made stays.
            </p>
            <Field
              id="confirm"
              label={`Type ${username} to confirm`}
              name="username"
              required
              autocomplete="off"
              autocapitalize="none"
              spellcheck={false}
            />
          </Act>
        </>
      )}
    </section>
  )
}
