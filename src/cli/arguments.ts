/** What arguments and options may be; each refuses with a sentence that names what it was given. */
import { planNameProblem, toPlanName } from '../core/accounts/plan-name.js'
import { LARGE_GRANT } from '../core/operator/credits.js'
import { MAX_REASON_LENGTH } from '../core/operator/operator-actions.js'
import { emailAddressIn } from '../lib/email-address.js'
import { endOf, endOfDay, readMoment } from '../lib/moments.js'
import { isLine } from '../lib/text.js'
import { OperatorError } from './operator-error.js'

export const wholeNumber = (name: string, min: number, max: number) => (text: string) => {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  throw new OperatorError(`${name} must be a whole number from ${min} to ${max}, not "${text}".`)
}

/** Not 0, and with a sign where it is below. */
export const signedNumber = (name: string, max: number) => (text: string) => {
  const value = /^[+-]?\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (value !== 0 && Math.abs(value) <= max) return value
  throw new OperatorError(`${name} must be a whole number from -${max} to ${max} and not 0, not "${text}".`)
}

function momentOf(name: string, text: string) {
  const moment = readMoment(text)
  if (moment) return moment
  throw new OperatorError(`${name} must be an ISO date like 2027-01-31 or 2027-01-31T12:00:00Z, not "${text}".`)
}

/** Where a range begins: a date is its first moment. */
export const since = (name: string) => (text: string) => momentOf(name, text).at

/** What all of a range lies before: a date is the first moment after it, so that the range has the whole day. */
export const before = (name: string) => (text: string) => {
  const { at, isDay } = momentOf(name, text)
  return isDay ? new Date(endOfDay(at).getTime() + 1) : at
}

/** When something is to end: a date is the last moment of that day. Nothing may end in the past. */
export const end = (name: string) => (text: string) => {
  const value = endOf(momentOf(name, text))
  if (value.getTime() > Date.now()) return value
  throw new OperatorError(`${name} ${text} is over: give a later date.`)
}

/** Asks whoever types the command; false where nobody can answer. */
export type Confirm = (question: string) => Promise<boolean>

/** `option(...YES)`: for `requireMeant`. */
export const YES = ['--yes', `do not ask about more than ${LARGE_GRANT} credits`] as const

/** @throws OperatorError unless these credits are few, or a person or `--yes` says that they are meant */
export async function requireMeant(credits: number, yes: boolean, confirm: Confirm): Promise<void> {
  const question = credits < 0 ? `Take ${-credits} credits?` : `Give ${credits} credits?`
  if (Math.abs(credits) <= LARGE_GRANT || yes || (await confirm(question))) return
  throw new OperatorError(
    `${credits} credits are more than ${LARGE_GRANT} at once, so nothing was done: add --yes if that is what you mean.`,
  )
}

/** As the table's own check has it. */
export function newUsername(text: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$/.test(text)) return text
  throw new OperatorError(
    `"${text}" can't be a username: use 1 to 64 letters, digits and . _ @ + -, beginning with a letter or digit.`,
  )
}

export function emailAddress(text: string): string {
  const address = emailAddressIn(text)
  if (address) return address
  throw new OperatorError(`"${text}" is not an email address: write it like alice@example.com.`)
}

/** Not "Active": it would look right and keep its owner from generating. */
export function subscriptionStatus(text: string): string {
  if (/^[a-z][a-z_]{0,39}$/.test(text)) return text
  throw new OperatorError(`--status must be lowercase letters and underscores, like active or past_due, not "${text}".`)
}

/** Text that an operator writes for people to read. */
export const words = (name: string, maxLength: number) => (text: string) => {
  const value = text.trim()
  if (isLine(value, maxLength)) return value
  throw new OperatorError(`${name} must be one line of 1 to ${maxLength} characters.`)
}

/** The name of a subscription's plan. */
export const planName = (name: string) => (text: string) => {
  const value = toPlanName(text)
  const problem = planNameProblem(value)
  if (problem) throw new OperatorError(`${name} ${problem}.`)
  return value
}

/** `option(...UNLISTED)`: where there are plans. */
export const UNLISTED = [
  '--unlisted',
  'the name is meant to be that of no plan: it grants nothing and allows everything',
] as const

/** `option(...REASON)`: every act is recorded, with its reason. */
export const REASON = [
  '--reason <text>',
  'why; kept in the log of what operators did',
  words('--reason', MAX_REASON_LENGTH),
] as const

export interface ReasonOption {
  readonly reason?: string
}

export const oneOf = (name: string, values: readonly string[]) => (text: string) => {
  if (values.includes(text)) return text
  throw new OperatorError(`${name} must be one of ${values.join(', ')}, not "${text}".`)
}
