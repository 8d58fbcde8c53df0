/** What an operator does to one account: each act reads its form, does it, and says what is to be recorded. */
import { z } from 'zod'
import { cancelAll, deleteAccount } from '../../../core/accounts/delete-account.js'
import { newToken, type SignedIn } from '../../../core/accounts/session.js'
import { cancelGeneration, clearLeftovers } from '../../../core/generations/cancel.js'
import { CANCELED } from '../../../core/generations/failure-reason.js'
import { type AdministeredAccount, endOfDay, inOneYear, LARGE_GRANT } from '../../../core/operator/administration.js'
import { counted, number } from '../../parts/text.js'
import type { OperatorStores, WebsitePorts } from '../../shared/ports.js'
import { line, readForm, reason } from '../parts/operator-forms.js'

export const GONE = 'This account was deleted: nothing about it can be changed.'
const OWN = 'That is your own account: another operator must do this.'

/** What an act's page says of it. */
export const DONE = {
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

/** `action` is recorded, with the reason that the form gave; undefined: nothing new was done. `after`: the rest of it. */
export type Outcome =
  | {
      readonly done: keyof typeof DONE
      readonly action: string | undefined
      readonly after?: () => Promise<unknown>
      readonly problem?: never
    }
  | { readonly problem: string }

interface Acting {
  readonly ports: WebsitePorts
  /** Of the transaction in which the act is recorded. */
  readonly stores: OperatorStores
  readonly account: AdministeredAccount
  readonly by: SignedIn
}

type Act = (acting: Acting, body: unknown) => Promise<Outcome>

/** An act with its fields, all of which are text. */
const act =
  <Fields>(fields: z.ZodType<Fields>, work: (acting: Acting, form: Fields) => Promise<Outcome>): Act =>
  async (acting, body) => {
    const { form, problem } = readForm(fields, body)
    return problem === undefined ? work(acting, form as Fields) : { problem }
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
  plan: line(100, 'The plan must be one line of 1 to 100 characters.'),
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
  email: text.refine((it) => it === '' || (it.length <= 254 && /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u.test(it)), EMAIL),
})

/** By the last part of their address. */
export const ACTS = {
  credits: act(grant, async ({ stores, account }, { amount, reason, ref }) => {
    const reference = { note: reason, ref: `console:${ref}` }
    const { outcome } = await stores.administration.credits.grant(account.id, amount, reference)
    if (outcome === 'too_many')
      return { problem: `${account.username} would hold more than ${Number.MAX_SAFE_INTEGER} credits: grant fewer.` }
    if (outcome === 'user_deleted') return { problem: GONE }
    if (outcome === 'ref_taken')
      return { problem: 'This form was sent before, with other values: load this page again to grant more.' }
    const isNew = outcome === 'granted'
    return { done: outcome, action: isNew ? `granted ${counted(amount, 'credit')}` : undefined }
  }),

  'credits/correct': act(correction, async ({ stores, account }, { amount, reason, ref, below_zero }) => {
    const how = { note: reason, belowZero: below_zero === 'yes', ref: `console:${ref}` }
    const corrected = await stores.administration.credits.adjust(account.id, amount, how)
    switch (corrected.outcome) {
      case 'user_deleted':
        return { problem: GONE }
      case 'too_many':
        return { problem: `${account.username} would hold or owe too many credits: correct by fewer.` }
      case 'nothing_to_take':
        return { problem: `The balance is ${number(corrected.balance)}: tick the box to let it fall below 0.` }
      case 'adjusted_before':
        return { done: 'corrected_before', action: undefined }
      case 'adjusted':
        return {
          done: corrected.delta === amount ? 'corrected' : 'corrected_in_part',
          action: `corrected the credits by ${corrected.delta}`,
        }
    }
  }),

  subscription: act(subscription, async ({ stores, account }, { plan, status, end_date }) => {
    // The form knows only the day: the same day keeps the moment.
    const current = account.subscription?.endDate
    const isKept = end_date === '' || end_date === current?.toISOString().slice(0, 10)
    const endDate = isKept ? undefined : endOfDay(new Date(end_date))
    if (isOver(endDate) || (status === 'active' && isOver(endDate ?? current))) return { problem: OVER }
    const set = await stores.administration.subscriptions.set(account.id, { plan, status, endDate }, inOneYear())
    const until = set?.endDate.toISOString().slice(0, 10)
    return { done: 'subscribed', action: `set the subscription: ${plan}, ${status}, until ${until}` }
  }),

  'subscription/remove': act(nothing, async ({ stores, account }) => {
    await stores.administration.subscriptions.remove(account.id)
    return { done: 'unsubscribed', action: 'took the subscription away' }
  }),

  'keys/revoke': act(one, async ({ stores, account }, { id }) => {
    const key = (await stores.administration.keys.list(account.id)).find((it) => it.id === id)
    if (!key) return { problem: 'This account has no such key.' }
    await stores.administration.keys.revoke(id)
    return { done: 'revoked', action: key.revokedAt ? undefined : `revoked the key …${key.hint}` }
  }),

  'sessions/end': act(nothing, async ({ stores, account }) => {
    await stores.sessions.endAll(account.id)
    return { done: 'sessions_ended', action: 'ended all sessions' }
  }),

  'generations/cancel': act(one, async ({ ports, stores, account }, { id }) => {
    const active = await stores.administration.generations.activeOf(account.id)
    const ended = active.includes(id) && (await stores.cancels.cancel(id, CANCELED, { onlyQueued: false }))
    if (!ended) return { problem: 'This generation has already ended.' }
    return { done: 'canceled', action: `canceled generation ${id}`, after: () => clearLeftovers(ports, ended) }
  }),

  role: act(z.object({ role: z.enum(['subscriber', 'operator'], 'Choose a role.') }), async (acting, { role }) => {
    const { stores, account, by } = acting
    if (account.id === by.caller.account.id) return { problem: OWN }
    await stores.administration.accounts.setRole(account.id, role)
    return { done: 'role', action: `made ${role === 'operator' ? 'an operator' : 'a subscriber'}` }
  }),

  email: act(email, async ({ stores, account }, { email: address }) => {
    if (!(await stores.administration.accounts.setEmail(account.id, address || null)))
      return { problem: 'Another account has this email address.' }
    return { done: 'email', action: address ? 'changed the email address' : 'removed the email address' }
  }),

  delete: act(z.object({ username: text }), async ({ ports, stores, account, by }, { username }) => {
    if (account.id === by.caller.account.id) return { problem: OWN }
    if (username !== account.username)
      return { problem: `Nothing was deleted: type the username exactly, ${account.username}.` }
    await deleteAccount({ ...stores.administration, sessions: stores.sessions }, account.id)
    const cancel = (id: string) => cancelGeneration(ports, id, CANCELED, { onlyQueued: false })
    const after = () => cancelAll({ ...ports.administration, cancel }, account.id)
    return { done: 'deleted', action: 'deleted user', after }
  }),
} satisfies Record<string, Act>
