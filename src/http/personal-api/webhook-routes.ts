import { z } from 'zod'
import {
  createEndpoint,
  deliveriesOf,
  type EndpointPorts,
  findEndpoint,
  removeEndpoint,
  rotateSecret,
  testEndpoint,
} from '../../webhooks/endpoints.js'
import { TEST_EVENT } from '../../webhooks/webhook.js'
import type { App } from '../fastify-app.js'
import { pageFields } from '../paging.js'
import { refusals } from './envelope.js'
import { webhookBody, webhookParams } from './webhook-schemas.js'
import {
  deliveryList,
  deliveryListView,
  webhook,
  webhookList,
  webhookListView,
  webhookTest,
  webhookView,
  webhookWithSecret,
  webhookWithSecretView,
} from './webhook-views.js'

const tags = ['Webhooks']
const params = webhookParams

/** Endpoints of the account that are told of its events. */
export function webhookRoutes(app: App, ports: EndpointPorts): void {
  app.post(
    '/webhooks',
    {
      schema: {
        ...{ operationId: 'createWebhook', tags, summary: 'Be told of events', body: webhookBody },
        description: 'At most 10 endpoints. The secret in the answer is shown this once.',
        response: { 201: webhookWithSecret, ...refusals(400, 413, 415) },
      },
    },
    async ({ caller, body }, reply) => {
      reply.header('cache-control', 'no-store').code(201)
      return webhookWithSecretView(await createEndpoint(ports, caller.account, body))
    },
  )

  app.get(
    '/webhooks',
    {
      schema: {
        ...{ operationId: 'listWebhooks', tags, summary: 'Your webhook endpoints' },
        description: 'Oldest first.',
        response: { 200: webhookList, ...refusals() },
      },
    },
    async ({ caller }) => webhookListView(await ports.endpoints.list(caller.account.id)),
  )

  app.get(
    '/webhooks/:id',
    {
      schema: {
        ...{ operationId: 'getWebhook', tags, summary: 'One webhook endpoint', params },
        description: '`status` is `disabled` when it answered 410, or when nothing could be delivered for 3 days.',
        response: { 200: webhook, ...refusals(404) },
      },
    },
    async ({ caller, params }) => webhookView(await findEndpoint(ports, caller.account, params.id)),
  )

  app.get(
    '/webhooks/:id/deliveries',
    {
      schema: {
        ...{ operationId: 'listWebhookDeliveries', tags, summary: 'What was sent to an endpoint', params },
        description: 'Newest first; kept for 30 days.',
        querystring: z.strictObject(pageFields(1)),
        response: { 200: deliveryList, ...refusals(400, 404) },
      },
    },
    async ({ caller, params, query: { cursor, limit } }) =>
      deliveryListView(await deliveriesOf(ports, caller.account, params.id, { limit, after: cursor })),
  )
}

/** What needs no body to be done to an endpoint. */
export function webhookActionRoutes(app: App, ports: EndpointPorts): void {
  app.delete(
    '/webhooks/:id',
    {
      schema: {
        ...{ operationId: 'deleteWebhook', tags, summary: 'Delete a webhook endpoint', params },
        description: 'What waits for it is not sent any more.',
        response: { 204: z.null().describe('Deleted'), ...refusals(404) },
      },
    },
    async ({ caller, params }, reply) => {
      await removeEndpoint(ports, caller.account, params.id)
      return reply.code(204).send(null)
    },
  )

  app.post(
    '/webhooks/:id/test',
    {
      schema: {
        ...{ operationId: 'testWebhook', tags, summary: 'Send a test event', params },
        description: 'Sent, signed, tried again and logged like any other event.',
        response: { 202: webhookTest, ...refusals(400, 404) },
      },
    },
    async ({ caller, params }, reply) => {
      const id = await testEndpoint(ports, caller.account, params.id)
      return reply.code(202).send({ id, type: TEST_EVENT })
    },
  )

  app.post(
    '/webhooks/:id/rotate-secret',
    {
      schema: {
        ...{ operationId: 'rotateWebhookSecret', tags, summary: 'Get a new secret', params },
        description: 'For 24 hours events are signed with the old one, too: `webhook-signature` then holds both.',
        response: { 200: webhookWithSecret, ...refusals(404) },
      },
    },
    async ({ caller, params }, reply) => {
      reply.header('cache-control', 'no-store')
      return webhookWithSecretView(await rotateSecret(ports, caller.account, params.id))
    },
  )
}
