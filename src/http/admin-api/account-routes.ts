import type { Readable } from 'node:stream'
import { z } from 'zod'
import { planNameProblem, toPlanName } from '../../core/accounts/plan-name.js'
import { invalidParameter } from '../../core/errors.js'
import {
  type AdministeredAccount,
  createAccount,
  endAccount,
  requireAccount,
  setEmail,
  setRole,
} from '../../core/operator/accounts.js'
import { inOneYear, removeSubscription, setSubscription } from '../../core/operator/subscriptions.js'
import { fileNameOf } from '../../lib/file-name.js'
import { personalRefusals } from '../shared/error-bodies.js'
import type { App } from '../shared/fastify-app.js'
import * as field from '../shared/fields.js'
import { viewOf } from '../shared/responses.js'
import { type ActPorts, act } from './acts.js'
import * as admin from './admin-fields.js'

const USERNAME = 'username must be 1 to 64 letters, digits and . _ @ + -, beginning with a letter or digit.'
export const username = z.string(USERNAME).regex(/^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$/, USERNAME)
const STATUS = 'status must be lowercase letters and underscores, like active or past_due.'
const role = field.choice('role', ['subscriber', 'operator'])
export const plan = z
  .string('plan must be one line of 1 to 100 characters.')
  .transform(toPlanName)
  .superRefine((it, context) => {
    const problem = planNameProblem(it)
    if (problem) context.addIssue({ code: 'custom', message: `plan ${problem}.` })
  })
  .meta({ type: 'string', minLength: 1, maxLength: 100 })
export const unlisted = z
  .boolean('unlisted must be true or false.')
  .optional()
  .describe('The name is meant to be that of no plan; needed where there are plans, and it is none of them')

const subscription = z.object({ status: z.string(), plan: z.string(), endDate: z.iso.datetime() })

const EXAMPLE_ACCOUNT = {
  id: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
  username: 'alice',
  credits: 94,
  subscription: { status: 'active', plan: 'Pro', endDate: '2027-01-31T23:59:59.999Z' },
  email: 'alice@example.com',
  role: 'subscriber',
  created_at: '2026-11-20T21:04:11.062Z',
  deleted_at: null,
} as const

const account = z
  .object({
    id: z.string(),
    username: z.string(),
    credits: z.int(),
    subscription: subscription.nullable(),
    email: z.string().nullable(),
    role: z.enum(['subscriber', 'operator']),
    created_at: z.iso.datetime(),
    deleted_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'AdminAccount', examples: [EXAMPLE_ACCOUNT] })
const shownAccount = account
  .extend({ active_generations: z.array(z.string()).describe('Their IDs') })
  .meta({ id: 'AdminAccountNow', examples: [{ ...EXAMPLE_ACCOUNT, active_generations: [] }] })

const accountView = ({ subscription: own, ...rest }: Omit<AdministeredAccount, 'roleFromGroup'>) =>
  viewOf(account, { ...rest, subscription: own && viewOf(subscription, own) })

const tags = ['Accounts']

const listSchema = {
  operationId: 'listAccounts',
  tags,
  summary: 'Accounts, by name',
  description: 'Those whose name or address has `text` in it, or with a key that ends with it.',
  querystring: z.strictObject({
    limit: admin.limit,
    cursor: admin.accountCursor,
    text: z
      .string()
      .max(254)
      .refine(...field.validText('text'))
      .default('')
      .describe('A part of the name or address, the end of a key, or the ID of an account or a key'),
    deleted: field.queryFlag('deleted').describe('Deleted ones instead'),
  }),
  response: {
    200: z.object({ accounts: z.array(account), next_cursor: field.nextCursor }).meta({ id: 'AdminAccountList' }),
    ...personalRefusals(400),
  },
}

const createSchema = {
  operationId: 'createAccount',
  tags,
  summary: 'Make an account',
  description: 'With no credits and no subscription unless told otherwise.',
  headers: admin.POSTED,
  body: field.body({
    username,
    credits: admin.amount('credits', 0).optional(),
    plan: plan.optional().describe('Begins an active subscription to it'),
    unlisted,
    until: admin.end('until').optional(),
    email: admin.email.optional(),
    role: role.optional(),
    meant: admin.meant,
    reason: admin.reason,
  }),
  response: { 201: account, ...personalRefusals(400, 409, 413, 415, 422) },
}

const showSchema = {
  operationId: 'getAccount',
  tags,
  summary: 'An account',
  description: 'If nobody has the name now, the last one who had it.',
  params: admin.ofAccount,
  response: { 200: shownAccount, ...personalRefusals(404) },
}

const exportSchema = {
  operationId: 'exportAccount',
  tags,
  summary: 'All that is held on an account',
  description: 'As JSON files, with its images. `README.txt` in it says what each is. One at a time.',
  params: admin.ofAccount,
  response: {
    200: {
      description: 'A ZIP file, which ends before its end is written if something fails',
      content: { 'application/zip': { schema: z.unknown().meta({ type: 'string', format: 'binary' }) } },
    },
    ...personalRefusals(404),
  },
}

const changeSchema = {
  operationId: 'changeAccount',
  tags,
  summary: 'Change the address or the role of an account',
  description: 'What is not given stays as it is.',
  params: admin.ofAccount,
  body: field.body({
    email: admin.email.nullable().optional().describe('null takes it away'),
    role: role.optional().describe('Whether it may open the operator pages'),
    reason: admin.reason,
  }),
  response: { 200: account, ...personalRefusals(400, 404, 413, 415) },
}

const deletedAccount = z
  .object({
    id: z.string(),
    username: z.string(),
    deleted_at: z.iso.datetime().nullable(),
    canceled_generations: z.array(z.string()),
    purged: z.object({ prompts: z.int(), images: z.int() }).nullable(),
  })
  .meta({ id: 'AdminDeletedAccount' })
const deleteSchema = {
  operationId: 'deleteAccount',
  tags,
  summary: 'Delete an account',
  description: 'Its keys stop working, and what was generated stays unless it is purged.',
  params: admin.ofAccount,
  querystring: z.strictObject({
    purge: field.queryFlag('purge').describe('Wipes its prompts and images, also of an account deleted before'),
  }),
  response: { 200: deletedAccount, ...personalRefusals(400, 404) },
}

const changedSubscription = z
  .object({ username: z.string(), subscription: subscription.nullable() })
  .meta({ id: 'AdminChangedSubscription' })
const setSubscriptionSchema = {
  operationId: 'setSubscription',
  tags,
  summary: 'Begin or change a subscription',
  description: 'What is not given stays as it is. A new one is active for a year unless told otherwise.',
  params: admin.ofAccount,
  body: field.body({
    plan: plan.optional(),
    unlisted,
    status: z
      .string(STATUS)
      .regex(/^[a-z][a-z_]{0,39}$/, STATUS)
      .optional()
      .describe('Only `active` may generate'),
    until: admin.end('until').optional(),
    reason: admin.reason,
  }),
  response: { 200: changedSubscription, ...personalRefusals(400, 404, 413, 415) },
}
const removeSubscriptionSchema = {
  operationId: 'removeSubscription',
  tags,
  summary: 'Take a subscription away',
  description: 'Its period ends, too: what expires at the end of it expires now.',
  params: admin.ofAccount,
  response: { 200: changedSubscription, ...personalRefusals(400, 404) },
}

export interface AccountPorts extends ActPorts {
  /** All that is held on it, as a ZIP. @throws rate_limited while it is exported already */
  exportOf(account: AdministeredAccount): Promise<Readable>
  /** Wipes what a deleted account left. */
  purge(accountId: string): Promise<{ readonly prompts: number; readonly images: number }>
}

export function accountRoutes(app: App, ports: AccountPorts): void {
  const { administration } = ports
  const config = admin.OF_ACCOUNTS

  app.get('/accounts', { schema: listSchema }, async ({ query: { text, deleted, limit, cursor: after } }) => {
    const { items, next } = await administration.accounts.search({ text, deleted }, { limit, after })
    const accounts = items.map(({ plan, status, endDate, ...it }) => {
      const has = plan !== null && status !== null && endDate !== null
      return accountView({ ...it, subscription: has ? { plan, status, endDate } : null })
    })
    return { accounts, next_cursor: admin.accountCursorOf(next) }
  })

  app.post('/accounts', { config, schema: createSchema }, (request, reply) => {
    const { username, credits = 0, plan, until, email, role = 'subscriber', meant, unlisted } = request.body
    if (until && plan === undefined)
      throw invalidParameter('until', 'until is the end of a subscription: give plan, too.')
    admin.requireMeant(credits, meant)
    admin.requireMayAdminister(request, { role })
    const subscription = plan === undefined ? undefined : { plan, endDate: until ?? inOneYear() }
    const account = { username, credits, subscription, email, role }
    return act(request, reply, ports, async (acting) => ({
      status: 201,
      body: accountView(await createAccount(acting, account, unlisted)),
    }))
  })

  app.get('/accounts/:name', { schema: showSchema }, async ({ params: { name } }) => {
    const found = await requireAccount(administration, name, { orDeleted: true })
    return { ...accountView(found), active_generations: await administration.generations.activeOf(found.id) }
  })

  // A route for HEAD would read all images.
  const download = { exposeHeadRoute: false, schema: exportSchema }
  app.get('/accounts/:name/export', download, async ({ params: { name } }, reply) => {
    const found = await requireAccount(administration, name, { orDeleted: true })
    return reply
      .header('content-disposition', `attachment; filename="easel-${fileNameOf(found.username)}.zip"`)
      .header('x-content-type-options', 'nosniff')
      .type('application/zip')
      .send(await ports.exportOf(found))
  })

  app.patch('/accounts/:name', { config, schema: changeSchema }, (request, reply) => {
    const {
      params: { name },
      body: { email, role },
    } = request
    if (email === undefined && role === undefined)
      throw invalidParameter('email', 'Nothing to change: give email or role.')
    return act(request, reply, ports, async (acting) => {
      admin.requireMayAdminister(request, { role: role ?? '' })
      if (email !== undefined) await setEmail(acting, name, email)
      if (role !== undefined) await setRole(acting, name, role)
      return { body: accountView(await requireAccount(administration, name)) }
    })
  })

  app.delete('/accounts/:name', { config, schema: deleteSchema }, (request, reply) => {
    const { name } = request.params
    return act(request, reply, ports, async (acting) => {
      const ended = await endAccount(acting, name, request.query.purge ? ports.purge : undefined)
      const { id, username, deletedAt, canceled, purged } = ended
      return { body: { id, username, deleted_at: deletedAt ?? null, canceled_generations: canceled, purged } }
    })
  })

  app.put('/accounts/:name/subscription', { config, schema: setSubscriptionSchema }, (request, reply) => {
    const { plan, status, until: endDate, unlisted } = request.body
    if (plan === undefined && status === undefined && endDate === undefined)
      throw invalidParameter('plan', 'Nothing to set: give plan, status or until.')
    return act(request, reply, ports, async (acting) => ({
      body: await setSubscription(acting, request.params.name, { plan, status, endDate }, unlisted),
    }))
  })

  app.delete('/accounts/:name/subscription', { config, schema: removeSubscriptionSchema }, (request, reply) =>
    act(request, reply, ports, async (acting) => ({
      body: { username: await removeSubscription(acting, request.params.name), subscription: null },
    })),
  )
}
