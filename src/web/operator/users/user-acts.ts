/** What an operator does to one account: each act reads its form and does it. */
import { z } from 'zod'
import { newToken, type SignedIn } from '../../../core/accounts/session.js'
import {
  type AdministeredAccount,
  endAccount,
  endSessions,
  setEmail,
  setRole,
} from '../../../core/operator/accounts.js'
import type { Acting } from '../../../core/operator/acting.js'
import type { Administration } from '../../../core/operator/administration.js'
import { adjustCredits, grantCredits, LARGE_GRANT } from '../../../core/operator/credits.js'
import { cancelAsOperator } from '../../../core/operator/generations.js'
import { revokeKey } from '../../../core/operator/keys.js'
import { removeSubscription, setSubscription } from '../../../core/operator/subscriptions.js'
import { emailAddressIn } from '../../../lib/email-address.js'
import { endOfDay } from '../../../lib/moments.js'
import { inForm, mistake, planName, readForm, reason, tickUnlisted } from '../../parts/operator-forms.js'
import { number } from '../../parts/text.js'
import { keyFields, linkFields, newKey, newLink, type Secret } from './secrets.js'

export const GONE = 'This account was deleted: nothing about it can be changed.'
const OWN = 'That is your own account: another operator must do this.'

/** What an act's page says of it. */
export const DONE = {
  created: 'The account is created. Make a sign-in link below, and give it to whom it is for.',
  granted: 'The credits were granted.',
  granted_before: 'This form was sent before: the credits were granted once.',
  corrected: 'The credits were corrected.',
  corrected_in_part: 'The balance stops at 0: fewer credits were taken. Tick the box to take more.',
  corrected_before: 'This form was sent before: the credits were corrected once.',
  subscribed: 'The subscription is set.',
  unsubscribed: 'The subscription was taken away.',
  revoked: 'The key is revoked: it is refused from now on.',
  sessions_ended: 'All sessions are ended.',
  canceled: 'The generation is canceled and its credits were given back.',
  role: 'The role is changed.',
  email: 'The email address is changed.',
  deleted: 'The account is deleted. Its keys and sessions are refused from now on.',
} as const

interface Doing {
  readonly acting: Acting<Administration>
  readonly account: AdministeredAccount
  readonly by: SignedIn
  /** Of the website, for links; of keys, for new ones. */
  readonly site: { readonly baseUrl: string; readonly keyPrefix: string }
}

/** What the page says that an act leads to, or what the page shows once that answers it. */
type Done = keyof typeof DONE | Secret

/** @throws invalid_request, not_found */
type Act = (doing: Doing, body: unknown) => Promise<Done>

/** An act with its fields, all of which are text. */
const act =
  <Fields>(fields: z.ZodType<Fields>, work: (doing: Doing, form: Fields) => Promise<Done>): Act =>
  async (doing, body) => {
    const { form, problem } = readForm(fields, body)
    if (problem !== undefined) throw mistake(problem)
    return work(doing, form as Fields)
  }

export const text = z
  .string()
  .catch('')
  .transform((it) => it.trim())
const nothing = z.unknown()
const one = z.object({ id: text })

const AMOUNT = `The amount must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}.`
const LARGE = `That is more than ${number(LARGE_GRANT)} credits at once: tick the box if you mean it.`
const isMeant = ({ amount, meant }: { readonly amount: number; readonly meant: string }) =>
  Math.abs(amount) <= LARGE_GRANT || meant === 'yes'
export const ref = text.transform((it) => (/^[\w-]{43}$/.test(it) ? it : newToken()))
const grant = z
  .object({
    amount: text
      .refine((it) => /^\d{1,16}$/.test(it) && Number(it) >= 1 && Number(it) <= Number.MAX_SAFE_INTEGER, AMOUNT)
      .transform(Number),
    reason,
    ref,
    meant: text,
  })
  .refine(isMeant, LARGE)

const CORRECTION = `The amount must be a whole number from −${Number.MAX_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}, and not 0.`
const correction = z
  .object({
    amount: text
      .transform((it) => it.replace('−', '-'))
      .refine((it) => /^[+-]?\d{1,16}$/.test(it) && Number(it) !== 0 && Number.isSafeInteger(Number(it)), CORRECTION)
      .transform(Number),
    reason,
    ref,
    below_zero: text,
    meant: text,
  })
  .refine(isMeant, LARGE)

const DATE = 'The end must be a date like 2027-01-31.'
const subscription = z.object({
  plan: planName({ isOptional: false }),
  unlisted: text,
  status: text.refine(
    (it) => /^[a-z][a-z_]{0,39}$/.test(it),
    'The status must be lowercase letters and underscores, like active or past_due.',
  ),
  end_date: text.refine((it) => it === '' || (z.iso.date().safeParse(it).success && it >= '1970'), DATE),
})

const OVER = 'The end is over: choose today (in UTC) or a later date.'
const isOver = (end: Date | undefined) => end !== undefined && end.getTime() <= Date.now()

const EMAIL = 'The email address must look like name@example.com; leave it empty to remove it.'
const email = z.object({
  email: text
    .refine((it) => it === '' || emailAddressIn(it) !== undefined, EMAIL)
    .transform((it) => emailAddressIn(it) ?? null),
})

/** By the last part of their address. */
export const ACTS = {
  credits: act(grant, async ({ acting, account }, { amount, reason, ref }) => {
    const given = { note: reason, ref: `console:${ref}` }
    const again = () => 'This form was sent before, with other values: load this page again to grant more.'
    const { granted } = await grantCredits(acting, account.username, amount, given).catch(inForm({ ref: again }))
    return granted ? 'granted' : 'granted_before'
  }),

  'credits/correct': act(correction, async ({ acting, account }, { amount, reason, ref, below_zero }) => {
    const how = { note: reason, belowZero: below_zero === 'yes', ref: `console:${ref}` }
    const tick = (message: string) => message.replace(/:.*/, ': tick the box to let the balance fall below 0.')
    const { adjusted } = await adjustCredits(acting, account.username, amount, how).catch(inForm({ below_zero: tick }))
    if (adjusted === 0) return 'corrected_before'
    return adjusted === amount ? 'corrected' : 'corrected_in_part'
  }),

  subscription: act(subscription, async ({ acting, account }, { plan, status, end_date, unlisted }) => {
    // The form knows only the day: the same day keeps the moment.
    const current = account.subscription?.endDate
    const isKept = end_date === '' || end_date === current?.toISOString().slice(0, 10)
    const endDate = isKept ? undefined : endOfDay(new Date(end_date))
    if (isOver(endDate) || (status === 'active' && isOver(endDate ?? current))) throw mistake(OVER)
    const change = { plan, status, endDate }
    await setSubscription(acting, account.username, change, unlisted === 'yes').catch(inForm(tickUnlisted))
    return 'subscribed'
  }),

  'subscription/remove': act(nothing, async ({ acting, account }) => {
    await removeSubscription(acting, account.username)
    return 'unsubscribed'
  }),

  keys: act(keyFields, ({ acting, account, site }, form) => newKey(acting, account.username, form, site.keyPrefix)),

  'sign-in-link': act(linkFields, ({ acting, account, site }, form) =>
    newLink(acting, account.username, form, site.baseUrl),
  ),

  'keys/revoke': act(one, async ({ acting, account }, { id }) => {
    const key = (await acting.stores.keys.list(account.id)).find((it) => it.id === id)
    if (!key) throw mistake('This account has no such key.')
    await revokeKey(acting, id)
    return 'revoked'
  }),

  'sessions/end': act(nothing, async ({ acting, account }) => {
    await endSessions(acting, account.username)
    return 'sessions_ended'
  }),

  'generations/cancel': act(one, async ({ acting, account }, { id }) => {
    const active = await acting.stores.generations.activeOf(account.id)
    if (!active.includes(id)) throw mistake('This account has no such generation, or it has ended.')
    await cancelAsOperator(acting, id)
    return 'canceled'
  }),

  role: act(z.object({ role: z.enum(['subscriber', 'operator'], 'Choose a role.') }), async (doing, { role }) => {
    requireOther(doing)
    await setRole(doing.acting, doing.account.username, role)
    return 'role'
  }),

  email: act(email, async ({ acting, account }, { email: address }) => {
    await setEmail(acting, account.username, address)
    return 'email'
  }),

  delete: act(z.object({ username: text }), async (doing, { username }) => {
    const { acting, account } = doing
    requireOther(doing)
    if (username !== account.username)
      throw mistake(`Nothing was deleted: type the username exactly, ${account.username}.`)
    await endAccount(acting, username, undefined)
    return 'deleted'
  }),
} satisfies Record<string, Act>

function requireOther({ account, by }: Doing): void {
  if (account.id === by.caller.account.id) throw mistake(OWN)
}
