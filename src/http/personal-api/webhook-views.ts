import { z } from 'zod'
import type { Page } from '../../page.js'
import type { WithSecret } from '../../webhooks/endpoints.js'
import {
  DELIVERY_FAULTS,
  type DeliveryRecord,
  TEST_EVENT,
  WEBHOOK_EVENTS,
  type WebhookEndpoint,
} from '../../webhooks/webhook.js'
import { cursorOf, nextCursor } from '../paging.js'

const EXAMPLE = {
  id: 'whe_9f0c3b1e6d7a4c58b2e1f0a9d8c7b6a5',
  url: 'https://example.com/easel',
  description: 'Production',
  events: ['generation.succeeded', 'generation.failed'],
  status: 'enabled',
  disabled_reason: null,
  created_at: '2026-11-20T21:04:11.062Z',
} as const

const fields = {
  id: z.string(),
  url: z.string(),
  description: z.string(),
  events: z.array(z.enum(WEBHOOK_EVENTS)),
  status: z.enum(['enabled', 'disabled']),
  disabled_reason: z.string().nullable().describe('Why nothing is sent there any more'),
  created_at: z.iso.datetime(),
}

export const webhook = z.object(fields).meta({ id: 'Webhook', examples: [EXAMPLE] })

export const webhookView = (endpoint: WebhookEndpoint): z.output<typeof webhook> => ({
  id: endpoint.id,
  url: endpoint.url,
  description: endpoint.description,
  events: [...endpoint.events],
  status: endpoint.disabledReason === null ? 'enabled' : 'disabled',
  disabled_reason: endpoint.disabledReason,
  created_at: endpoint.createdAt.toISOString(),
})

export const webhookWithSecret = z
  .object({ ...fields, secret: z.string().describe('Verifies what is sent; shown now and never again') })
  .meta({ id: 'WebhookWithSecret', examples: [{ ...EXAMPLE, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }] })

export const webhookWithSecretView = (endpoint: WithSecret): z.output<typeof webhookWithSecret> => ({
  ...webhookView(endpoint),
  secret: endpoint.secret,
})

export const webhookList = z
  .object({ webhooks: z.array(webhook), count: z.int().min(0) })
  .meta({ id: 'WebhookList', examples: [{ webhooks: [EXAMPLE], count: 1 }] })

export const webhookListView = (endpoints: readonly WebhookEndpoint[]): z.output<typeof webhookList> => ({
  webhooks: endpoints.map(webhookView),
  count: endpoints.length,
})

const EVENT_ID = 'evt_0b9d8c7a6f5e4d3c2b1a09f8e7d6c5b4'

export const webhookTest = z
  .object({ id: z.string().describe('The `webhook-id` that it will have'), type: z.literal(TEST_EVENT) })
  .meta({ id: 'WebhookTest', examples: [{ id: EVENT_ID, type: 'test' }] })

export const deliveryList = z
  .object({
    deliveries: z.array(
      z.object({
        event_id: z.string().describe('The `webhook-id`, the same for every try'),
        type: z.enum([...WEBHOOK_EVENTS, TEST_EVENT]),
        generation_id: z.string().nullable().describe('null for a test'),
        status: z.enum(['pending', 'delivered', 'failed']),
        attempts: z.int().min(0),
        last_status: z.int().nullable().describe('The HTTP status of the last try; null when it was not answered'),
        last_error: z.enum(DELIVERY_FAULTS).nullable(),
        created_at: z.iso.datetime(),
        next_try_at: z.iso.datetime().nullable().describe('null when there will be none'),
        delivered_at: z.iso.datetime().nullable(),
      }),
    ),
    next_cursor: nextCursor,
  })
  .meta({
    id: 'WebhookDeliveryList',
    examples: [
      {
        deliveries: [
          {
            event_id: EVENT_ID,
            type: 'generation.succeeded',
            generation_id: 'gen_4c6t8w2r5y1k9m3n7p0q6s2v8x',
            status: 'pending',
            attempts: 2,
            last_status: 500,
            last_error: 'status_not_2xx',
            created_at: '2026-11-20T21:04:11.062Z',
            next_try_at: '2026-11-20T21:04:49.311Z',
            delivered_at: null,
          },
        ],
        next_cursor: null,
      },
    ],
  })

export const deliveryListView = ({ items, next }: Page<DeliveryRecord>): z.output<typeof deliveryList> => ({
  deliveries: items.map((delivery) => ({
    event_id: delivery.eventId,
    type: delivery.type,
    generation_id: delivery.generationId,
    status: delivery.status,
    attempts: delivery.attempts,
    last_status: delivery.lastStatus,
    last_error: delivery.lastError,
    created_at: delivery.createdAt.toISOString(),
    next_try_at: delivery.nextAt?.toISOString() ?? null,
    delivered_at: delivery.deliveredAt?.toISOString() ?? null,
  })),
  next_cursor: cursorOf(next),
})
