/** Creating an account, as `easel user create` does. */
import { z } from 'zod'
import { createAccount } from '../../../core/operator/accounts.js'
import type { Acting } from '../../../core/operator/acting.js'
import type { Administration } from '../../../core/operator/administration.js'
import { LARGE_GRANT, MAX_CREDITS } from '../../../core/operator/credits.js'
import type { ListedPlan } from '../../../core/operator/plans.js'
import { inOneYear } from '../../../core/operator/subscriptions.js'
import { emailAddressIn, MAX_EMAIL_LENGTH } from '../../../lib/email-address.js'
import { endOfDay } from '../../../lib/moments.js'
import { UsernameField } from '../../parts/account-fields.js'
import {
  inForm,
  mistake,
  planName,
  ReasonField,
  reason,
  tickUnlisted,
  UnlistedTick,
} from '../../parts/operator-forms.js'
import { Field } from '../../parts/page-parts.js'
import { number } from '../../parts/text.js'

const text = z
  .string()
  .catch('')
  .transform((it) => it.trim())

/** What is shown again after a mistake. */
const typed = z.object({
  ...{ username: text, email: text, credits: text, plan: text, end_date: text, operator: text, reason: text },
})
export type NewUserValues = z.output<typeof typed>
export const typedOf = (body: unknown): NewUserValues => typed.parse(body ?? {})

interface NewUserFormProps {
  readonly path: string
  readonly plans: readonly ListedPlan[]
  /** Undefined: nothing was typed yet. */
  readonly values: NewUserValues | undefined
}

export const NewUserForm = ({ path, plans, values }: NewUserFormProps) => (
  <details class="act" open={values !== undefined}>
    <summary>Create an account</summary>
    <form class="stack" method="post" action={path}>
      <div class="pair">
        <UsernameField label="Username" value={values?.username} />
        <Field
          id="email"
          label="Email"
          type="email"
          value={values?.email}
          maxlength={MAX_EMAIL_LENGTH}
          autocomplete="off"
          hint="Optional. Sign-in links can be sent there."
        />
      </div>
      <div class="pair">
        <Field id="plan" label="Plan" value={values?.plan} maxlength={100} autocomplete="off" list="plans" />
        <Field id="end-date" label="Ends" name="end_date" type="date" value={values?.end_date} />
      </div>
      <datalist id="plans">
        {plans.map(({ name }) => (
          <option value={name} />
        ))}
      </datalist>
      {plans.length > 0 && <UnlistedTick />}
      <p class="quiet small">Without a plan the account cannot make images. Without a date it ends in one year.</p>
      <Field
        id="credits"
        label="Credits"
        type="number"
        inputmode="numeric"
        min={0}
        max={MAX_CREDITS}
        step={1}
        value={values?.credits ?? '0'}
        hint="To begin with, besides what the plan grants."
      />
      {Number(values?.credits) > LARGE_GRANT && (
        <label class="row">
          <input name="meant" type="checkbox" value="yes" /> I mean more than {number(LARGE_GRANT)} credits
        </label>
      )}
      <label class="row">
        <input name="operator" type="checkbox" value="yes" checked={values?.operator === 'yes'} /> May open these pages,
        as an operator
      </label>
      <ReasonField id="why-create" label="Why" value={values?.reason} />
      <button class="primary" type="submit">
        Create account
      </button>
    </form>
  </details>
)

const USERNAME = 'The username must be 1 to 64 letters, digits and . _ @ + -, beginning with a letter or digit.'
const EMAIL = 'The email address must look like name@example.com.'
const CREDITS = `The credits must be a whole number from 0 to ${MAX_CREDITS}.`
const LARGE = `That is more than ${number(LARGE_GRANT)} credits at once: tick the box if you mean it.`
const DATE = 'The end must be a date like 2027-01-31, and not over.'
const NO_PLAN = 'The end is that of a subscription: name a plan, too.'

export const newUserFields = z
  .object({
    username: text.refine((it) => /^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$/.test(it), USERNAME),
    email: text
      .refine((it) => it === '' || emailAddressIn(it) !== undefined, EMAIL)
      .transform((it) => emailAddressIn(it)),
    credits: text
      .refine((it) => /^\d{0,16}$/.test(it) && Number(it) <= MAX_CREDITS, CREDITS)
      .transform((it) => Number(it)),
    plan: planName({ isOptional: true }),
    unlisted: text,
    end_date: text
      .refine((it) => it === '' || z.iso.date().safeParse(it).success, DATE)
      .transform((it) => (it === '' ? undefined : endOfDay(new Date(it)))),
    operator: text,
    meant: text,
    reason,
  })
  .refine(({ credits, meant }) => credits <= LARGE_GRANT || meant === 'yes', LARGE)
  .refine(({ plan, end_date }) => plan !== '' || !end_date, NO_PLAN)

/** Resolves to the username. @throws invalid_request */
export async function createUser(
  acting: Acting<Administration>,
  { username, email, credits, plan, unlisted, end_date, operator }: z.output<typeof newUserFields>,
): Promise<string> {
  if (end_date && end_date.getTime() <= Date.now()) throw mistake(DATE)
  const role = operator === 'yes' ? 'operator' : 'subscriber'
  const subscription = plan === '' ? undefined : { plan, endDate: end_date ?? inOneYear() }
  const asked = { username, credits, email: email || undefined, role, subscription } as const
  const account = await createAccount(acting, asked, unlisted === 'yes').catch(inForm(tickUnlisted))
  return account.username
}
