import { z } from 'zod'
import type { RequirePrices } from '../../core/billing/checked-prices.js'
import { importPlans, type ListedPlan, planPrices, requirePlan, retirePlan } from '../../core/operator/plans.js'
import { entriesOf, requireDistinct } from '../shared/entries.js'
import { personalRefusals } from '../shared/error-bodies.js'
import type { App } from '../shared/fastify-app.js'
import * as field from '../shared/fields.js'
import { planOfEntry, toPlanEntry } from '../shared/plan-entry.js'
import { type ActPorts, act } from './acts.js'
import * as admin from './admin-fields.js'

export interface SalePorts extends ActPorts {
  readonly requirePrices: RequirePrices
}

const tags = ['Plans']

const plan = z
  .object({
    name: z.string(),
    credits: z.int().describe('Granted in each period'),
    period: z.enum(['month', 'year']),
    unspent: z.union([z.enum(['keep', 'expire']), z.object({ keep_at_most: z.int() })]).describe('At its end'),
    sign_up_credits: z.int(),
    models: z.array(z.int()).nullable().describe('IDs; null: all'),
    rate_limit: z.int().nullable(),
    retain_prompts_days: z.int().nullable().describe('0: for ever; null: as the installation says'),
    retain_images_days: z.int().nullable(),
    price: z.string().nullable().describe('Of the payment provider'),
    for_sale: z.boolean(),
    retired_at: z.iso.datetime().nullable(),
    subscribers: z.int().describe('Active ones'),
  })
  .meta({ id: 'AdminPlan' })

const view = ({ subscribers, ...listed }: ListedPlan): z.output<typeof plan> => {
  const { retired_at: _, ...entry } = toPlanEntry(listed)
  const { unspent, models } = entry
  return {
    ...entry,
    unspent: unspent as z.output<typeof plan>['unspent'],
    models: models && [...models],
    retired_at: listed.retiredAt?.toISOString() ?? null,
    subscribers,
  }
}

const listSchema = {
  operationId: 'listPlans',
  tags,
  summary: 'All plans, retired ones last',
  description: 'What subscriptions to them grant and allow.',
  response: { 200: z.object({ plans: z.array(plan) }).meta({ id: 'AdminPlanList' }), ...personalRefusals() },
}
const importSchema = {
  operationId: 'importPlans',
  tags,
  summary: 'Add plans, or change those of the same name; all or none',
  description: 'In the fields of the list. What people get changes with their next period.',
  headers: admin.POSTED,
  body: field.body({
    plans: z.array(z.unknown(), 'plans must be a list.').max(1000).describe('As in a file of plans'),
    reason: admin.reason,
  }),
  response: {
    200: z.object({ imported: z.int() }).meta({ id: 'AdminImportedPlans' }),
    ...personalRefusals(400, 409, 413, 415, 422),
  },
}
const ofPlan = z.object({ name: z.string().describe("A plan's name") })
const showSchema = {
  operationId: 'getPlan',
  tags,
  summary: 'A plan',
  description: 'And how many have it.',
  params: ofPlan,
  response: { 200: plan, ...personalRefusals(404) },
}
const retireSchema = {
  operationId: 'retirePlan',
  tags,
  summary: 'Sell a plan no more',
  description: 'Who has it keeps it.',
  params: ofPlan,
  response: {
    200: z.object({ name: z.string(), retired_at: z.iso.datetime() }).meta({ id: 'AdminRetiredPlan' }),
    ...personalRefusals(400, 404),
  },
}

/** What a list says of a plan that is no field of an import. */
const withoutFacts = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const { subscribers: _, ...entry } = value as Record<string, unknown>
  return entry
}

export function planRoutes(app: App, ports: SalePorts): void {
  const { administration } = ports
  const config = admin.OF_ACCOUNTS

  app.get('/plans', { schema: listSchema }, async () => ({ plans: (await administration.plans.list()).map(view) }))

  app.post('/plans/import', { config, bodyLimit: admin.IMPORT_LIMIT, schema: importSchema }, async (request, reply) => {
    const plans = await entriesOf(request.body.plans, (it) => planOfEntry(withoutFacts(it)))
    requireDistinct('name', plans, ({ name }) => name)
    await ports.requirePrices(planPrices(plans))
    return act(request, reply, ports, async (acting) => {
      await importPlans(acting, plans)
      return { body: { imported: plans.length } }
    })
  })

  app.get('/plans/:name', { schema: showSchema }, async ({ params }) =>
    view(await requirePlan(administration, params.name)),
  )

  app.delete('/plans/:name', { config, schema: retireSchema }, (request, reply) => {
    const { name } = request.params
    return act(request, reply, ports, async (acting) => ({
      body: { name, retired_at: await retirePlan(acting, name) },
    }))
  })
}
