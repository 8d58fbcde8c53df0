/** Webhooks of a service whose receivers are on this machine. */
import { expect } from 'vitest'
import { call } from './client.js'
import type { GivenUser } from './givens.js'
import type { Service } from './service.js'
import { givenEndedGeneration } from './stand-in-worker.js'

/** What an operator sets who has receivers of their own: here, of this machine. */
export const INSIDE = { WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32', RATE_LIMIT_MAX: '1000' }

export interface GivenWebhook {
  readonly id: string
  readonly secret: string
}

export async function givenWebhook(
  { url: server }: Pick<Service, 'url'>,
  { key }: GivenUser,
  url: string,
  events?: readonly string[],
): Promise<GivenWebhook> {
  const answer = await call(server, 'POST', '/api/v1/webhooks', { key, body: { url, ...(events && { events }) } })
  expect(answer).toMatchObject({ status: 201 })
  return answer.body
}

/** A generation that ends, with whatever that tells. @returns its ID */
export async function givenEnded({ db }: Pick<Service, 'db'>, user: GivenUser, how: 'succeed' | 'fail' = 'succeed') {
  return (await givenEndedGeneration(db, user, {}, how)).id
}

/** The log of an endpoint, newest first. */
export async function logOf({ url }: Pick<Service, 'url'>, { key }: GivenUser, { id }: Pick<GivenWebhook, 'id'>) {
  return (await call(url, 'GET', `/api/v1/webhooks/${id}/deliveries`, { key })).body.deliveries
}

/** As if the time of everything that waits had come. */
export const timePasses = ({ db }: Pick<Service, 'db'>) =>
  db.pool.query(
    `WITH rested AS (UPDATE webhook_endpoints SET not_before = '-infinity')
     UPDATE webhook_deliveries SET next_at = now() WHERE status = 'pending'`,
  )
