import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { newToken } from '../../../core/accounts/session.js'
import { AppError } from '../../../core/errors.js'
import type { AdministeredAccount } from '../../../core/operator/accounts.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { sendPage } from '../../parts/layout.js'
import { actingOf, mistake, readForm, reason } from '../../parts/operator-forms.js'
import { address } from '../../parts/text.js'
import { refusalMessage } from '../../shared/answers.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { type Secret, type TypedSecret, typedOf } from './secrets.js'
import { ACTS, DONE, GONE, ref, text } from './user-acts.js'
import { UserPage } from './user-page.js'

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

/** What the forms for credits keep after a mistake. */
const creditFields = z.object({ amount: text, reason: text, ref, below_zero: text })
type CreditFields = z.output<typeof creditFields>
/** By their acts. */
const CREDIT_FORMS: Readonly<Record<string, 'grant' | 'correction'>> = {
  credits: 'grant',
  'credits/correct': 'correction',
}
const blankCredits = (): CreditFields => ({ amount: '', reason: '', ref: newToken(), below_zero: '' })

/** One user: all about them, and what an operator may do. */
export function userRoutes(app: App, { ports, keyPrefix, baseUrl, shop }: WebsiteOptions): void {
  const { administration, ledger, currentPeriods, plans, sessions } = ports

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
    const [entries, keys, opened, active, current, paid, listed] = await Promise.all([
      ledger.entries(account.id, { limit: LEDGER_PAGE, after }),
      administration.keys.list(account.id),
      sessions.list(account.id),
      administration.generations.listActive(account.id, MOST_ACTIVE),
      currentPeriods.of(account.id),
      shop?.subscription(account.id),
      plans.list(),
    ])
    const facts = { account, entries, keys, sessions: opened, active, keyPrefix, isFirst: before === undefined }
    const plan = { current, paid, plans: listed.filter(({ retiredAt }) => retiredAt === null) }
    const forms = { grant: blankCredits(), correction: blankCredits(), ...said.credits }
    return sendPage(reply, <UserPage signedIn={sessionOf(request)} {...facts} {...plan} {...forms} {...said} />)
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
        const form = CREDIT_FORMS[name]
        const credits = form && { [form]: creditFields.parse(request.body ?? {}) }
        return show(request, reply, { username, problem, credits, typed: { [name]: typedOf(request.body) } })
      }
      try {
        if (account.deletedAt) throw mistake(GONE)
        if (!form) throw mistake(unexplained)
        const acting = actingOf(ports, request, form.reason)
        const done = await act({ acting, account, by, site: { baseUrl, keyPrefix } }, request.body)
        // Not behind a redirect, whose address would have it; all pages are sent with no-store.
        if (typeof done === 'object') return show(request, reply, { username, secret: done })
        return reply.redirect(address(`/operator/users/${encodeURIComponent(username)}`, { done }), 303)
      } catch (error) {
        return refuse(refusalMessage(error, reply))
      }
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
  readonly secret?: Secret
  readonly typed?: Readonly<Record<string, TypedSecret>>
  /** What was typed into a form for credits. */
  readonly credits?: Partial<Record<'grant' | 'correction', CreditFields>> | undefined
}
