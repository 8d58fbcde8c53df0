import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { cancelAll, deleteAccount } from '../../../core/accounts/delete-account.js'
import { newToken, type SignedIn } from '../../../core/accounts/session.js'
import { AppError } from '../../../core/errors.js'
import { cancelGeneration, clearLeftovers } from '../../../core/generations/cancel.js'
import { CANCELED } from '../../../core/generations/failure-reason.js'
import { type AdministeredAccount, endOfDay, inOneYear, LARGE_GRANT } from '../../../core/operator/administration.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { sendPage } from '../../parts/layout.js'
import { address, counted, number } from '../../parts/text.js'
import type { OperatorStores, WebsiteOptions, WebsitePorts } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { byOf, line, readForm, reason } from '../parts/operator-forms.js'
import { UserPage } from './user-page.js'

const GONE = 'This account was deleted: nothing about it can be changed.'
const OWN = 'That is your own account: another operator must do this.'

/** What an operator does to one account: each act reads its form, does it, and says what is to be recorded. */
const DONE = {
  granted: 'The credits were granted.',
  granted_before: 'This form was sent before: the credits were granted once.',
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
type Outcome =
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
  <Fields,>(fields: z.ZodType<Fields>, work: (acting: Acting, form: Fields) => Promise<Outcome>): Act =>
  async (acting, body) => {
    const { form, problem } = readForm(fields, body)
    return problem === undefined ? work(acting, form as Fields) : { problem }
  }

const text = z
  .string()
  .catch('')
  .transform((it) => it.trim())
const nothing = z.unknown()
const one = z.object({ id: text })

const AMOUNT = `The amount must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}.`
const LARGE = `That is more than ${number(LARGE_GRANT)} credits at once: tick the box if you mean it.`
const grant = z
  .object({
    amount: text
      .refine((it) => /^\d{1,16}$/.test(it) && Number(it) >= 1 && Number(it) <= Number.MAX_SAFE_INTEGER, AMOUNT)
      .transform(Number),
    reason,
    ref: text.transform((it) => (/^[\w-]{43}$/.test(it) ? it : newToken())),
    meant: text,
  })
  .refine(({ amount, meant }) => amount <= LARGE_GRANT || meant === 'yes', LARGE)

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
const ACTS = {
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

const LEDGER_PAGE = 10
const MOST_ACTIVE = 20

const USERNAME = /^[A-Za-z0-9._@+-]{1,64}$/

const params = z.object({ username: z.string() })
const query = z.object({
  /** Of several deleted accounts with the same name. */
  id: z.guid().optional().catch(undefined),
  ledger: z.coerce.number().int().positive().max(Number.MAX_SAFE_INTEGER).optional().catch(undefined),
  done: z
    .enum(Object.keys(DONE) as (keyof typeof DONE)[])
    .optional()
    .catch(undefined),
})

/** What the form for credits keeps after a mistake. */
const grantFields = z.object({ amount: z.string().catch(''), reason: z.string().catch(''), ref: z.string().catch('') })

/** One user: all about them, and what an operator may do. */
export function userRoutes(app: App, { ports, keyPrefix }: WebsiteOptions): void {
  const { administration, ledger, sessions, recorded } = ports

  async function find(username: string, id?: string): Promise<AdministeredAccount> {
    const account = USERNAME.test(username) ? await administration.accounts.find(username, id) : undefined
    if (!account) throw new AppError('not_found', 'There is no user of this name. Search for them under Users.')
    return account
  }

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    { username, id, before, ...said }: Shown,
  ): Promise<unknown> {
    const account = await find(username, id)
    const after = before === undefined ? undefined : [before]
    const [entries, keys, opened, active] = await Promise.all([
      ledger.entries(account.id, { limit: LEDGER_PAGE, after }),
      administration.keys.list(account.id),
      sessions.list(account.id),
      administration.generations.listActive(account.id, MOST_ACTIVE),
    ])
    const facts = { account, entries, keys, sessions: opened, active, keyPrefix, isFirst: before === undefined }
    const grant = said.grant ?? { amount: '', reason: '', ref: newToken() }
    return sendPage(reply, <UserPage signedIn={sessionOf(request)} {...facts} {...said} grant={grant} />)
  }

  app.get('/operator/users/:username', { schema: { params, querystring: query } }, async (request, reply) => {
    const { id, ledger: before, done } = request.query
    return show(request, reply, { ...request.params, id, before, done: done && DONE[done] })
  })

  for (const [name, act] of Object.entries(ACTS)) {
    app.post(`/operator/users/:username/${name}`, { schema: { params } }, async (request, reply) => {
      const account = await find(request.params.username)
      const { username } = account
      const by = sessionOf(request)
      const { form, problem: unexplained } = readForm(z.object({ reason }), request.body)
      const refuse = (problem: string) => {
        const grant = name === 'credits' ? grantFields.parse(request.body ?? {}) : undefined
        return show(request, reply.code(400), { username, problem, grant })
      }
      if (account.deletedAt) return refuse(GONE)
      if (!form) return refuse(unexplained ?? '')
      const outcome = await recorded(
        (stores) => act({ ports, stores, account, by }, request.body),
        (it: Outcome) =>
          it.problem === undefined && it.action !== undefined
            ? { ...byOf(request, form.reason), action: it.action, target: username }
            : undefined,
      )
      if (outcome.problem !== undefined) return refuse(outcome.problem)
      const { done, after } = outcome
      await after?.()
      return reply.redirect(address(`/operator/users/${encodeURIComponent(username)}`, { done }), 303)
    })
  }
}

interface Shown {
  readonly username: string
  readonly id?: string | undefined
  /** The ledger's place. */
  readonly before?: number | undefined
  readonly done?: string | undefined
  readonly problem?: string
  readonly grant?: z.infer<typeof grantFields> | undefined
}
