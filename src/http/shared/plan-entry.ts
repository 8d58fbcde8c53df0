/** An entry of an import of plans: JSON's names on one side, the core's on the other. */
import { z } from 'zod'
import { MAX_RETAINED_DAYS, type Plan } from '../../core/accounts/plan.js'
import { planNameProblem, toPlanName } from '../../core/accounts/plan-name.js'
import { AppError } from '../../core/errors.js'

const CREDITS = `must be a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`
const credits = z.int(CREDITS).min(0, CREDITS)
const PRICE = 'must be the ID of a price at the payment provider, like price_1Abc, or left out'
const PERIOD = 'must be "month" or "year"'
const UNSPENT = 'must be "keep", "expire" or {"keep_at_most": N}'
const MODELS = 'must be a list of IDs of model versions, or left out for all'
const RATE_LIMIT = 'must be a whole number from 1 to 1000000, or left out'

const RETAINED = `must be a whole number of days from 1 to ${MAX_RETAINED_DAYS}, 0 for ever, or left out`
const days = z.int(RETAINED).min(0, RETAINED).max(MAX_RETAINED_DAYS, RETAINED).nullish()

export const RETIRED = 'must be a time like 2027-01-31T12:00:00Z; without it the plan is on offer'

export const name = z
  .string('must be a text')
  .transform(toPlanName)
  .superRefine((it, context) => {
    const message = planNameProblem(it)
    if (message) context.addIssue({ code: 'custom', message })
  })

const entry = z.strictObject({
  name,
  credits,
  period: z.enum(['month', 'year'], PERIOD),
  unspent: z.union([z.enum(['keep', 'expire']), z.strictObject({ keep_at_most: credits })], UNSPENT),
  sign_up_credits: credits.optional(),
  models: z.array(z.int(MODELS).min(1, MODELS), MODELS).min(1, MODELS).nullish(),
  rate_limit: z.int(RATE_LIMIT).min(1, RATE_LIMIT).max(1_000_000, RATE_LIMIT).nullish(),
  retain_prompts_days: days,
  retain_images_days: days,
  price: z
    .string(PRICE)
    .regex(/^[\w-]{1,255}$/, PRICE)
    .nullish(),
  for_sale: z.boolean('must be true or false').optional(),
  retired_at: z.iso.datetime(RETIRED).nullish(),
})

/** @throws invalid_request with one sentence that names the field */
export function planOfEntry(value: unknown): Plan {
  const parsed = entry.safeParse(value)
  if (!parsed.success) throw new AppError('invalid_request', `${mistakeOf(entry, parsed.error, value)}.`)
  const {
    unspent,
    sign_up_credits: signUpCredits = 0,
    models = null,
    rate_limit: rateLimit = null,
    retain_prompts_days: retainPromptsDays = null,
    retain_images_days: retainImagesDays = null,
    price = null,
    ...its
  } = parsed.data
  const carryOver = unspent === 'keep' ? null : unspent === 'expire' ? 0 : unspent.keep_at_most
  const { for_sale: forSale = false, retired_at, ...same } = its
  const retiredAt = retired_at ? new Date(retired_at) : null
  if (forSale && !retiredAt && price === null)
    throw new AppError('invalid_request', 'for_sale needs a price: the ID of one at the payment provider.')
  return {
    ...{ ...same, carryOver, signUpCredits, models, rateLimit, retainPromptsDays, retainImagesDays },
    ...{ price, forSale: forSale && !retiredAt, retiredAt },
  }
}

/** A plan as an entry, which can be imported again. */
export const toPlanEntry = ({ name, credits, period, carryOver, retiredAt, ...its }: Plan) => ({
  ...{ name, credits, period, unspent: unspentOf(carryOver) },
  ...{ sign_up_credits: its.signUpCredits, models: its.models, rate_limit: its.rateLimit, price: its.price },
  ...{ retain_prompts_days: its.retainPromptsDays, retain_images_days: its.retainImagesDays },
  for_sale: its.forSale,
  ...(retiredAt && { retired_at: retiredAt }),
})

const unspentOf = (carryOver: number | null) =>
  carryOver === null ? 'keep' : carryOver === 0 ? 'expire' : { keep_at_most: carryOver }

/** What is wrong with an entry, with the field's name. */
export function mistakeOf({ shape }: z.ZodObject, { issues: [issue] }: z.ZodError, value: unknown): string {
  if (issue?.code === 'unrecognized_keys' && issue.path.length === 0)
    return `unknown field ${issue.keys.map((key) => `"${key}"`).join(', ')}; the fields are ${Object.keys(shape).join(', ')}`
  const field = issue?.path[0]
  if (field === undefined) return 'must be a JSON object'
  if (!Object.hasOwn(value as object, field)) return `${String(field)} is missing`
  return `${String(field)} ${field === 'unspent' ? UNSPENT : issue?.message}`
}
