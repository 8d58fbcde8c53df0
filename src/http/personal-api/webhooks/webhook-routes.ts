import * as webhooks from '../../../core/webhooks/endpoints.js'
import { TEST_EVENT } from '../../../core/webhooks/webhook.js'
import type { App } from '../../shared/fastify-app.js'
import * as field from '../../shared/fields.js'
import { viewOf } from '../../shared/responses.js'
import {
  createWebhookSchema,
  deleteWebhookSchema,
  delivery,
  getWebhookSchema,
  listWebhookDeliveriesSchema,
  listWebhooksSchema,
  rotateWebhookSecretSchema,
  testWebhookSchema,
  webhookView,
  webhookWithSecretView,
} from './webhook-schemas.js'

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
