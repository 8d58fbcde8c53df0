import type { ComponentChildren } from 'preact'
import { z } from 'zod'
import type { Plan } from '../../../core/accounts/plan.js'
import type { ModelVersion } from '../../../core/catalog/model-version.js'
import { invalidParameter } from '../../../core/errors.js'
import { ReasonField } from '../../parts/operator-forms.js'
import { Field } from '../../parts/page-parts.js'

const text = z.string().catch('')

/** As it arrives: all of it text, and any of it wrong or missing. */
export const formBody = z.object({
  /** The name of the plan that is changed; empty: a new one. */
  existing: text,
  ...{ name: text, credits: text, period: text, unspent: text, keep_at_most: text, sign_up_credits: text },
  /** `all`, or `some`: those of `models`. */
  allowed: text,
  models: z.union([z.string().transform((it) => [it]), z.array(z.string())]).catch([]),
  ...{ retain_prompts_days: text, retain_images_days: text },
  ...{ rate_limit: text, price: text, for_sale: text, reason: text },
})

export type PlanForm = z.output<typeof formBody>

/** A plan as the form shows it; undefined: what a new one begins with. */
export const formOf = (plan: Plan | undefined): PlanForm => ({
  existing: plan?.name ?? '',
  name: plan?.name ?? '',
  credits: `${plan?.credits ?? ''}`,
  period: plan?.period ?? 'month',
  unspent: !plan || plan.carryOver === 0 ? 'expire' : plan.carryOver === null ? 'keep' : 'keep_at_most',
  keep_at_most: `${plan?.carryOver || ''}`,
  sign_up_credits: `${plan?.signUpCredits || ''}`,
  allowed: plan?.models ? 'some' : 'all',
  models: (plan?.models ?? []).map(String),
  rate_limit: `${plan?.rateLimit ?? ''}`,
  retain_prompts_days: `${plan?.retainPromptsDays ?? ''}`,
  retain_images_days: `${plan?.retainImagesDays ?? ''}`,
  price: plan?.price ?? '',
  for_sale: plan?.forSale ? 'yes' : '',
  reason: '',
})

const numberOf = (value: string) => (value.trim() === '' ? Number.NaN : Number(value))
const optional = (value: string) => (value.trim() === '' ? undefined : Number(value))

const STAY = `Say how many credits stay at most: a whole number from 0 to ${Number.MAX_SAFE_INTEGER}.`
const TICK = 'Tick at least one model version, or choose all.'

/** As in a file of plans. @throws invalid_request where the form has no words for what is wrong in the file */
export function entryOf(form: PlanForm): Readonly<Record<string, unknown>> {
  const most = numberOf(form.keep_at_most)
  const keeps = form.unspent === 'keep_at_most'
  if (keeps && !(Number.isSafeInteger(most) && most >= 0)) throw invalidParameter('keep_at_most', STAY)
  if (form.allowed === 'some' && form.models.length === 0) throw invalidParameter('models', TICK)
  return {
    ...{ name: form.existing || form.name.trim(), credits: numberOf(form.credits), period: form.period },
    unspent: keeps ? { keep_at_most: most } : form.unspent,
    sign_up_credits: optional(form.sign_up_credits),
    models: form.allowed === 'some' ? form.models.map(numberOf) : null,
    rate_limit: optional(form.rate_limit),
    retain_prompts_days: optional(form.retain_prompts_days),
    retain_images_days: optional(form.retain_images_days),
    price: form.price.trim() || null,
    for_sale: form.for_sale === 'yes',
  }
}

interface PlanFieldsProps {
  readonly form: PlanForm
  readonly models: readonly ModelVersion[]
  readonly isNew: boolean
}

export const PlanFields = ({ form, models, isNew }: PlanFieldsProps) => (
  <>
    <Field
      id="name"
      label="Name"
      value={form.name}
      maxlength={100}
      required
      readonly={!isNew}
      autocomplete="off"
      hint={isNew ? 'It never changes.' : undefined}
    />
    <div class="pair">
      <Count id="granted" name="credits" label="Credits" value={form.credits} required />
      <Select id="period" label="For each" value={form.period} options={{ month: 'month', year: 'year' }} />
    </div>
    <div class="pair">
      <Select id="unspent" label="Left at its end" value={form.unspent} options={UNSPENT} />
      <Count id="keep_at_most" label="Stay at most" value={form.keep_at_most} />
    </div>
    <div class="pair wide">
      <Count
        id="sign_up_credits"
        label="Credits at sign-up"
        value={form.sign_up_credits}
        hint="Once. They never expire."
      />
      <Field
        id="rate_limit"
        label="Rate limit"
        type="number"
        inputmode="numeric"
        min={1}
        max={1_000_000}
        step={1}
        value={form.rate_limit}
        hint="Requests in a window."
      />
    </div>
    <div class="pair wide">
      <Count
        id="retain_prompts_days"
        label="Days prompts are kept"
        value={form.retain_prompts_days}
        hint="0: for ever. Empty: as usual."
      />
      <Count
        id="retain_images_days"
        label="Days images are kept"
        value={form.retain_images_days}
        hint="0: for ever. Empty: as usual."
      />
    </div>
    <fieldset class="stack allowed">
      <legend>Model versions</legend>
      <div class="row">
        <Tick type="radio" name="allowed" value="all" checked={form.allowed !== 'some'}>
          All
        </Tick>
        <Tick type="radio" name="allowed" value="some" checked={form.allowed === 'some'}>
          Only these
        </Tick>
      </div>
      <div class="ticks">
        {models.map(({ id, modelName, name }) => (
          <Tick type="checkbox" name="models" value={`${id}`} checked={form.models.includes(`${id}`)}>
            <bdi>{`${modelName} ${name}`}</bdi> <span class="quiet small">{id}</span>
          </Tick>
        ))}
      </div>
    </fieldset>
    <Field
      id="price"
      label="Price"
      value={form.price}
      maxlength={255}
      autocomplete="off"
      hint="The ID of a price at the payment provider, like price_1Abc."
    />
    <Tick type="checkbox" name="for_sale" value="yes" checked={form.for_sale === 'yes'}>
      For sale on the website
    </Tick>
    <ReasonField id="reason" value={form.reason} />
  </>
)

const UNSPENT = { expire: 'all expires', keep: 'all stays', keep_at_most: 'some stays' }

interface CountProps {
  readonly id: string
  readonly name?: string
  readonly label: string
  readonly value: string
  readonly required?: boolean
  readonly hint?: string
}

const Count = (props: CountProps) => (
  <Field {...props} type="number" inputmode="numeric" min={0} max={Number.MAX_SAFE_INTEGER} step={1} />
)

interface SelectProps {
  readonly id: string
  readonly label: string
  readonly value: string
  readonly options: Readonly<Record<string, string>>
}

const Select = ({ id, label, value, options }: SelectProps) => (
  <div class="field">
    <label for={id}>{label}</label>
    <select id={id} name={id}>
      {Object.entries(options).map(([option, name]) => (
        <option value={option} selected={option === value}>
          {name}
        </option>
      ))}
    </select>
  </div>
)

interface TickProps {
  readonly type: 'radio' | 'checkbox'
  readonly name: string
  readonly value: string
  readonly checked: boolean
  readonly children: ComponentChildren
}

const Tick = ({ children, ...input }: TickProps) => (
  <label class="tick">
    <input {...input} />
    <span>{children}</span>
  </label>
)
