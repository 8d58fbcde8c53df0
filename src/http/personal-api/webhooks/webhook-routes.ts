import { z } from 'zod'
import * as webhooks from '../../../core/webhooks/endpoints.js'
import {
  DELIVERY_FAULTS,
  TEST_EVENT,
  WEBHOOK_EVENTS,
  type WebhookEndpoint,
  type WebhookEvent,
} from '../../../core/webhooks/webhook.js'
import { personalRefusals } from '../../shared/error-bodies.js'
import type { App } from '../../shared/fastify-app.js'
import * as field from '../../shared/fields.js'
import { EXAMPLE, viewOf } from '../../shared/responses.js'

const MAX_DESCRIPTION = 200
const EVENTS_ISSUE = `events must be an array of one or more of: ${WEBHOOK_EVENTS.join(', ')}.`

export const webhookBody = field.body({
  url: z.string(field.required('url is required.', 'url must be a string.')).describe('https, with a public address'),
  events: field.withDefault(
    z
      .array(z.enum(WEBHOOK_EVENTS, EVENTS_ISSUE), EVENTS_ISSUE)
      .min(1, EVENTS_ISSUE)
      .transform((events): readonly WebhookEvent[] => [...new Set(events)]),
    WEBHOOK_EVENTS,
  ),
  description: field.withDefault(
    z
      .string('description must be a string.')
      .max(MAX_DESCRIPTION, `description must be at most ${MAX_DESCRIPTION} characters.`)
      .refine(...field.validText('description')),
    '',
  ),
})

const tags = ['Webhooks']
const params = field.idParams('The ID of the endpoint')

const EXAMPLE_WEBHOOK = {
  id: 'whe_9f0c3b1e6d7a4c58b2e1f0a9d8c7b6a5',
  url: 'https://example.com/easel',
  description: 'Production',
  events: ['generation.succeeded', 'generation.failed'],
  status: 'enabled',
  disabled_reason: null,
  paused_until: null,
  created_at: EXAMPLE.submittedAt,
} as const

const webhook = z
  .object({
    id: z.string(),
    url: z.string(),
    description: z.string(),
    events: z.array(z.enum(WEBHOOK_EVENTS)),
    status: z.enum(['enabled', 'disabled']),
    disabled_reason: z.string().nullable().describe('Why nothing is sent there any more'),
    paused_until: z.iso.datetime().nullable().describe('After failed tries: nothing is sent there before; else null'),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'Webhook', examples: [EXAMPLE_WEBHOOK] })

const webhookView = (endpoint: WebhookEndpoint) =>
  viewOf(webhook, { ...endpoint, status: endpoint.disabledReason === null ? 'enabled' : 'disabled' })

const webhookWithSecret = webhook
  .extend({ secret: z.string().describe('Verifies what is sent; shown now and never again') })
  .meta({
    id: 'WebhookWithSecret',
    examples: [{ ...EXAMPLE_WEBHOOK, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }],
  })

const webhookWithSecretView = ({ secret, ...endpoint }: webhooks.WithSecret) => ({
  ...webhookView(endpoint),
  secret,
})

const webhookList = z
  .object({ webhooks: z.array(webhook), count: z.int().min(0) })
  .meta({ id: 'WebhookList', examples: [{ webhooks: [EXAMPLE_WEBHOOK], count: 1 }] })

const EVENT_ID = 'evt_0b9d8c7a6f5e4d3c2b1a09f8e7d6c5b4'

const webhookTest = z
  .object({ id: z.string().describe('The `webhook-id` that it will have'), type: z.literal(TEST_EVENT) })
  .meta({ id: 'WebhookTest', examples: [{ id: EVENT_ID, type: 'test' }] })

const delivery = z.object({
  event_id: z.string().describe('The `webhook-id`, the same for every try'),
  type: z.enum([...WEBHOOK_EVENTS, TEST_EVENT]),
  generation_id: z.string().nullable().describe('null for a test, and for what is about no generation'),
  status: z.enum(['pending', 'delivered', 'failed']),
  attempts: z.int().min(0),
  last_status: z.int().nullable().describe('The HTTP status of the last try; null when it was not answered'),
  last_error: z.enum(DELIVERY_FAULTS).nullable(),
  created_at: z.iso.datetime(),
  next_try_at: z.iso.datetime().nullable().describe('Not in the past; null when there will be none'),
  delivered_at: z.iso.datetime().nullable(),
})

const EXAMPLE_DELIVERY = {
  event_id: EVENT_ID,
  type: 'generation.succeeded',
  generation_id: EXAMPLE.generationId,
  status: 'pending',
  attempts: 2,
  last_status: 500,
  last_error: 'status_not_2xx',
  created_at: EXAMPLE.submittedAt,
  next_try_at: '2026-11-20T21:04:49.311Z',
  delivered_at: null,
} as const

const deliveryList = z
  .object({ deliveries: z.array(delivery), next_cursor: field.nextCursor })
  .meta({ id: 'WebhookDeliveryList', examples: [{ deliveries: [EXAMPLE_DELIVERY], next_cursor: null }] })

const createWebhookSchema = {
  operationId: 'createWebhook',
  tags,
  summary: 'Be told of events',
  description: 'At most 10 endpoints. The secret in the answer is shown this once.',
  body: webhookBody,
  response: { 201: webhookWithSecret, ...personalRefusals(400, 413, 415) },
}

const listWebhooksSchema = {
  operationId: 'listWebhooks',
  tags,
  summary: 'Your webhook endpoints',
  description: 'Oldest first.',
  response: { 200: webhookList, ...personalRefusals() },
}

const getWebhookSchema = {
  operationId: 'getWebhook',
  tags,
  summary: 'One webhook endpoint',
  description:
    '`status` is `disabled` when it answered 410, or when nothing could be delivered for 3 days; a test enables it.',
  params,
  response: { 200: webhook, ...personalRefusals(404) },
}

const listWebhookDeliveriesSchema = {
  operationId: 'listWebhookDeliveries',
  tags,
  summary: 'What was sent to an endpoint',
  description: 'Newest first; kept for 30 days.',
  params,
  querystring: z.strictObject(field.page(1)),
  response: { 200: deliveryList, ...personalRefusals(400, 404) },
}

const deleteWebhookSchema = {
  operationId: 'deleteWebhook',
  tags,
  summary: 'Delete a webhook endpoint',
  description: 'What waits for it is not sent any more.',
  params,
  response: { 204: z.null().describe('Deleted'), ...personalRefusals(404) },
}

const testWebhookSchema = {
  operationId: 'testWebhook',
  tags,
  summary: 'Send a test event',
  description: 'Sent, signed, tried again and logged like any other event. Enables an endpoint that is disabled.',
  params,
  response: { 202: webhookTest, ...personalRefusals(404) },
}

const rotateWebhookSecretSchema = {
  operationId: 'rotateWebhookSecret',
  tags,
  summary: 'Get a new secret',
  description: 'For 24 hours events are signed with the old one, too: `webhook-signature` then holds both.',
  params,
  response: { 200: webhookWithSecret, ...personalRefusals(404) },
}

/** The account's endpoints, which receive its events. */
export function webhookRoutes(app: App, ports: webhooks.EndpointPorts): void {
  app.post('/webhooks', { schema: createWebhookSchema }, async ({ caller, body }, reply) => {
    const endpoint = await webhooks.createEndpoint(ports, caller.account, body)
    return reply.header('cache-control', 'no-store').code(201).send(webhookWithSecretView(endpoint))
  })

  app.get('/webhooks', { schema: listWebhooksSchema }, async ({ caller }) => {
    const endpoints = await ports.endpoints.list(caller.account.id)
    return { webhooks: endpoints.map(webhookView), count: endpoints.length }
  })

  app.get('/webhooks/:id', { schema: getWebhookSchema }, async ({ caller, params }) =>
    webhookView(await webhooks.findEndpoint(ports, caller.account, params.id)),
  )

  const log = '/webhooks/:id/deliveries'
  app.get(log, { schema: listWebhookDeliveriesSchema }, async ({ caller, params, query }) => {
    const page = { limit: query.limit, after: query.cursor }
    const { items, next } = await webhooks.deliveriesOf(ports, caller.account, params.id, page)
    const deliveries = items.map((it) => viewOf(delivery, { ...it, nextTryAt: it.nextAt }))
    return { deliveries, next_cursor: field.cursorOf(next) }
  })
}

/** The actions on an endpoint that need no body. The scope drops bodies. */
export function webhookActionRoutes(app: App, ports: webhooks.EndpointPorts): void {
  app.delete('/webhooks/:id', { schema: deleteWebhookSchema }, async ({ caller, params }, reply) => {
    await webhooks.removeEndpoint(ports, caller.account, params.id)
    return reply.code(204).send(null)
  })

  app.post('/webhooks/:id/test', { schema: testWebhookSchema }, async ({ caller, params }, reply) => {
    const id = await webhooks.testEndpoint(ports, caller.account, params.id)
    return reply.code(202).send({ id, type: TEST_EVENT })
  })

  app.post('/webhooks/:id/rotate-secret', { schema: rotateWebhookSecretSchema }, async ({ caller, params }, reply) => {
    const endpoint = await webhooks.rotateSecret(ports, caller.account, params.id)
    return reply.header('cache-control', 'no-store').send(webhookWithSecretView(endpoint))
  })
}
