import { z } from 'zod'
import { AppError } from '../../core/errors.js'
import { countsOf, IMPORT_OUTCOMES, type ImportedAccount, importAccounts } from '../../core/operator/accounts.js'
import { entriesOf, requireDistinct } from '../shared/entries.js'
import { personalRefusals } from '../shared/error-bodies.js'
import type { App } from '../shared/fastify-app.js'
import * as field from '../shared/fields.js'
import { plan, unlisted, username } from './account-routes.js'
import { type ActPorts, act } from './acts.js'
import * as admin from './admin-fields.js'

const MOST_ACCOUNTS = 1000

const row = z.strictObject({
  name: username,
  email: admin.email.nullish(),
  plan: plan.nullish(),
  until: admin.end('until').nullish(),
  credits: admin.amount('credits', 0).nullish(),
})
const FIELDS = Object.keys(row.shape).join(', ')

/** @throws invalid_request with one sentence that names the field */
function accountOf(value: unknown): ImportedAccount {
  const { data, error } = row.safeParse(value)
  const [issue] = error?.issues ?? []
  const isUnknown = issue?.code === 'unrecognized_keys'
  if (!data)
    throw new AppError(
      'invalid_request',
      isUnknown
        ? `unknown field "${issue.keys[0]}"; the fields are ${FIELDS}.`
        : (issue?.message ?? 'It is not valid.'),
    )
  if (data.until && !data.plan)
    throw new AppError('invalid_request', 'until is the end of a subscription: give plan, too.')
  return {
    username: data.name,
    email: data.email ?? undefined,
    subscription: data.plan ? { plan: data.plan, endDate: data.until ?? undefined } : undefined,
    credits: data.credits ?? 0,
  }
}

const importSchema = {
  operationId: 'importAccounts',
  tags: ['Accounts'],
  summary: 'Make many accounts, and change those of the same name; all or none',
  description: `Each is \`{${FIELDS.replaceAll(', ', '?, ').replace('name?', 'name')}?}\`; credits are for new ones only. A repeat changes nothing.`,
  headers: admin.POSTED,
  body: field.body({
    accounts: z
      .array(z.unknown(), 'accounts must be a list.')
      .max(MOST_ACCOUNTS, `At most ${MOST_ACCOUNTS} accounts at once.`)
      .describe('As the lines of the file have them'),
    dry_run: z.boolean('dry_run must be true or false.').default(false).describe('Only say what it would do'),
    unlisted,
    reason: admin.reason,
  }),
  response: {
    200: z
      .object({
        dry_run: z.boolean(),
        created: z.int(),
        changed: z.int(),
        unchanged: z.int(),
        accounts: z.array(z.object({ username: z.string(), outcome: z.enum(IMPORT_OUTCOMES) })),
      })
      .meta({ id: 'AdminImportedAccounts' }),
    ...personalRefusals(400, 409, 413, 415, 422),
  },
}

const ignoringCase = (text: string | undefined) => text?.toLowerCase()

export function importRoutes(app: App, ports: ActPorts): void {
  const { accounts: store } = ports.administration
  const route = { config: admin.OF_ACCOUNTS, bodyLimit: admin.IMPORT_LIMIT, schema: importSchema }
  app.post('/accounts/import', route, async (request, reply) => {
    const { dry_run: dryRun, unlisted } = request.body
    const accounts = await entriesOf(request.body.accounts, accountOf)
    requireDistinct('name', accounts, (it) => it.username, ignoringCase)
    requireDistinct('email', accounts, (it) => it.email, ignoringCase)
    if (request.caller.operatorScope !== 'all')
      for (const { username } of accounts) {
        const found = await store.find(username)
        if (found && !found.deletedAt) admin.requireMayAdminister(request, found)
      }
    return act(request, reply, ports, async (acting) => {
      const outcomes = await importAccounts(acting, accounts, dryRun, unlisted)
      const done = accounts.map(({ username }, n) => ({ username, outcome: outcomes[n] ?? 'unchanged' }))
      return { body: { dry_run: dryRun, ...countsOf(outcomes), accounts: done } }
    })
  })
}
