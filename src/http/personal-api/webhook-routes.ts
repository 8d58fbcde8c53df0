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
import { cursorOf } from '../fields.js'
import * as schemas from './webhook-schemas.js'

/** The account's endpoints, which receive its events. */
export function webhookRoutes(app: App, ports: EndpointPorts): void {
  app.post('/webhooks', { schema: schemas.createWebhook }, async ({ caller, body }, reply) => {
    const endpoint = await createEndpoint(ports, caller.account, body)
    return reply.header('cache-control', 'no-store').code(201).send(schemas.webhookWithSecretView(endpoint))
  })

  app.get('/webhooks', { schema: schemas.listWebhooks }, async ({ caller }) => {
    const endpoints = await ports.endpoints.list(caller.account.id)
    return { webhooks: endpoints.map(schemas.webhookView), count: endpoints.length }
  })

  app.get('/webhooks/:id', { schema: schemas.getWebhook }, async ({ caller, params }) =>
    schemas.webhookView(await findEndpoint(ports, caller.account, params.id)),
  )

  const deliveries = '/webhooks/:id/deliveries'
  app.get(deliveries, { schema: schemas.listWebhookDeliveries }, async ({ caller, params, query }) => {
    const page = { limit: query.limit, after: query.cursor }
    const { items, next } = await deliveriesOf(ports, caller.account, params.id, page)
    return { deliveries: items.map(schemas.deliveryView), next_cursor: cursorOf(next) }
  })
}

/** The actions on an endpoint that need no body. The scope drops bodies. */
export function webhookActionRoutes(app: App, ports: EndpointPorts): void {
  app.delete('/webhooks/:id', { schema: schemas.deleteWebhook }, async ({ caller, params }, reply) => {
    await removeEndpoint(ports, caller.account, params.id)
    return reply.code(204).send(null)
  })

  app.post('/webhooks/:id/test', { schema: schemas.testWebhook }, async ({ caller, params }, reply) => {
    const id = await testEndpoint(ports, caller.account, params.id)
    return reply.code(202).send({ id, type: TEST_EVENT })
  })

  app.post(
    '/webhooks/:id/rotate-secret',
    { schema: schemas.rotateWebhookSecret },
    async ({ caller, params }, reply) => {
      reply.header('cache-control', 'no-store')
      return schemas.webhookWithSecretView(await rotateSecret(ports, caller.account, params.id))
    },
  )
}
