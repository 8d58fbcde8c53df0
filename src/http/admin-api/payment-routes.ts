import { z } from 'zod'
import { PROBLEMS } from '../../core/billing/problems.js'
import { dismissPayment, matchCustomer, retryPayments } from '../../core/operator/payments.js'
import { personalRefusals } from '../shared/error-bodies.js'
import type { App } from '../shared/fastify-app.js'
import * as field from '../shared/fields.js'
import { viewOf } from '../shared/responses.js'
import { type ActPorts, act } from './acts.js'
import * as admin from './admin-fields.js'

const tags = ['Payments']
const SMALLEST_UNIT = 'In the smallest unit of the currency'

/** As on the command line. */
const LISTED = 500

const payment = z
  .object({
    id: z.string(),
    username: z.string().nullable().describe('null: of nobody that is known'),
    amount: z.int().describe(SMALLEST_UNIT),
    returned: z.int().describe('How much of it went back'),
    currency: z.string(),
    paid_at: z.iso.datetime().nullable(),
    pack: z.string().nullable(),
    subscription: z.string().nullable().describe('A period of it was paid; neither this nor a pack: nothing of Easel'),
    credits: z.int(),
    taken_back: z.int(),
  })
  .meta({ id: 'AdminPayment' })

const unmatched = z
  .object({
    kind: z.enum(['subscription', 'payment', 'cancellation']),
    id: z.string(),
    customer: z.string().nullable(),
    email: z.string().nullable().describe('As the customer gave it to the payment provider'),
    created_at: z.iso.datetime(),
    problem: z
      .enum(Object.keys(PROBLEMS) as (keyof typeof PROBLEMS)[])
      .nullable()
      .describe('null: the payment provider could not be asked'),
    advice: z.string().nullable().describe('What to do about the problem'),
    failures: z.int().describe('In a row'),
    failure: z.string().nullable(),
    failing_since: z.iso.datetime().nullable(),
    amount: z.int().nullable().describe(SMALLEST_UNIT),
    currency: z.string().nullable(),
    price: z.string().nullable().describe('Of a subscription'),
  })
  .meta({ id: 'AdminUnmatchedPayment' })

const limit = field
  .queryInteger('limit', { min: 1, max: LISTED })
  .default(LISTED)
  .describe(`How many at most; ${LISTED} unless given`)

const listSchema = {
  operationId: 'listPayments',
  tags,
  summary: 'Payments and what they brought, newest first',
  description: 'Older ones are on the pages of the payment provider.',
  querystring: z.strictObject({ limit }),
  response: {
    200: z.object({ payments: z.array(payment) }).meta({ id: 'AdminPaymentList' }),
    ...personalRefusals(400),
  },
}
const unmatchedSchema = {
  operationId: 'listUnmatchedPayments',
  tags,
  summary: 'What could not be matched to an account or a plan, or not be asked for',
  description: 'Oldest first.',
  querystring: z.strictObject({ limit }),
  response: {
    200: z.object({ unmatched: z.array(unmatched) }).meta({ id: 'AdminUnmatchedPaymentList' }),
    ...personalRefusals(400),
  },
}
const matchSchema = {
  operationId: 'matchCustomer',
  tags,
  summary: 'Say whose customer of the payment provider it is',
  description: 'What was paid is applied within seconds. A customer keeps its account.',
  params: z.object({ customer: z.string().describe("A customer's ID at the payment provider") }),
  headers: admin.POSTED,
  body: field.body({ username: admin.line('username', 64), reason: admin.reason }),
  response: {
    200: z.object({ customer: z.string(), username: z.string() }).meta({ id: 'AdminMatchedCustomer' }),
    ...personalRefusals(400, 404, 409, 413, 415, 422),
  },
}
const retrySchema = {
  operationId: 'retryPayments',
  tags,
  summary: 'Ask the payment provider again at once',
  description: 'For one that is unmatched, or for all.',
  headers: admin.POSTED,
  body: field
    .body({ id: admin.line('id', 255).optional().describe('Of one; none for all'), reason: admin.reason })
    .nullish(),
  response: {
    200: z.object({ due: z.int().describe('How many are asked for') }).meta({ id: 'AdminRetriedPayments' }),
    ...personalRefusals(400, 404, 409, 413, 415, 422),
  },
}
const dismissSchema = {
  operationId: 'dismissPayment',
  tags,
  summary: 'Take one from the list of what is unmatched',
  description: 'Nothing more is to be done about it.',
  params: field.idParams('The ID of one that is unmatched'),
  response: {
    200: z.object({ id: z.string() }).meta({ id: 'AdminDismissedPayment' }),
    ...personalRefusals(400, 404),
  },
}

export function paymentRoutes(app: App, ports: ActPorts): void {
  const { payments } = ports.administration
  const config = admin.OF_ACCOUNTS

  app.get('/payments', { schema: listSchema }, async ({ query }) => ({
    payments: (await payments.list(query.limit)).map((it) => viewOf(payment, it)),
  }))

  app.get('/payments/unmatched', { schema: unmatchedSchema }, async ({ query }) => ({
    unmatched: (await payments.unmatched(query.limit)).map((it) =>
      viewOf(unmatched, { ...it, advice: it.problem && PROBLEMS[it.problem] }),
    ),
  }))

  app.post('/payments/customers/:customer/match', { config, schema: matchSchema }, (request, reply) => {
    const { customer } = request.params
    return act(request, reply, ports, async (acting) => ({
      body: { customer, username: await matchCustomer(acting, customer, request.body.username) },
    }))
  })

  app.post('/payments/retry', { config, schema: retrySchema }, (request, reply) =>
    act(request, reply, ports, async (acting) => ({ body: { due: await retryPayments(acting, request.body?.id) } })),
  )

  app.delete('/payments/unmatched/:id', { config, schema: dismissSchema }, (request, reply) => {
    const { id } = request.params
    return act(request, reply, ports, async (acting) => {
      await dismissPayment(acting, id)
      return { body: { id } }
    })
  })
}
