import type { PageRequest } from '../../lib/page.js'
import type { Account } from '../accounts/account.js'
import { AppError, invalidParameter } from '../errors.js'
import type { EndpointStore, WebhookTargets } from './ports.js'
import {
  ENDPOINT_ID,
  MAX_ENDPOINTS,
  MAX_ORIGINS,
  newEndpointId,
  newEventId,
  newWebhookSecret,
  OLD_SECRET_HOURS,
  type WebhookEndpoint,
} from './webhook.js'

export interface EndpointPorts {
  readonly endpoints: EndpointStore
  readonly targets: WebhookTargets
}

/** An endpoint with its secret, which is shown only this once. */
export type WithSecret = WebhookEndpoint & { readonly secret: string }

/** @throws invalid_request for an address that may not be called, or when the account has as many as it may */
export async function createEndpoint(
  { endpoints, targets }: EndpointPorts,
  account: Account,
  asked: Pick<WebhookEndpoint, 'url' | 'description' | 'events'>,
): Promise<WithSecret> {
  const url = targets.require(asked.url, 'url').href
  const secret = newWebhookSecret()
  const created = await endpoints.create(account.id, { ...asked, id: newEndpointId(), url, secret }, MAX_ENDPOINTS)
  if (created) return { ...created, secret }
  const message = `You have ${MAX_ENDPOINTS} webhook endpoints, the most there may be: delete one first.`
  throw new AppError('invalid_request', message)
}

/** @throws not_found, alike for another account's endpoint and for one that does not exist */
export const findEndpoint = async ({ endpoints }: EndpointPorts, account: Account, id: string) =>
  requireFound(ENDPOINT_ID.test(id) && (await endpoints.find(account.id, id)))

/** Also ends its pending deliveries. @throws not_found */
export const removeEndpoint = async ({ endpoints }: EndpointPorts, account: Account, id: string) =>
  requireFound(ENDPOINT_ID.test(id) && (await endpoints.remove(account.id, id)))

/** The old secret signs beside the new one for a day. @throws not_found */
export async function rotateSecret({ endpoints }: EndpointPorts, account: Account, id: string): Promise<WithSecret> {
  const secret = newWebhookSecret()
  const rotated = ENDPOINT_ID.test(id) && (await endpoints.rotateSecret(account.id, id, secret, OLD_SECRET_HOURS))
  return { ...requireFound(rotated), secret }
}

/** Queues an empty event, for which a disabled endpoint is enabled again, and resolves to its ID. @throws not_found */
export async function testEndpoint({ endpoints }: EndpointPorts, account: Account, id: string): Promise<string> {
  const eventId = newEventId()
  requireFound(ENDPOINT_ID.test(id) && (await endpoints.addTest(account.id, id, eventId)))
  return eventId
}

/** The log of an endpoint, newest first. @throws not_found */
export async function deliveriesOf(ports: EndpointPorts, account: Account, id: string, page: PageRequest) {
  await findEndpoint(ports, account, id)
  return ports.endpoints.deliveries(id, page)
}

/** Admits the `webhook_url` of a request, before its submit. @throws invalid_request */
export async function admitWebhookUrl({ endpoints, targets }: EndpointPorts, account: Account, text: string) {
  const url = targets.require(text, 'webhook_url')
  const secret = await endpoints.admitOrigin(account.id, url.origin, newWebhookSecret(), MAX_ORIGINS)
  if (secret !== undefined) return { url: url.href, secret }
  throw invalidParameter(
    'webhook_url',
    `webhook_url names one more server than the ${MAX_ORIGINS} that an account may name in a month: use one of those.`,
  )
}

function requireFound<T>(found: T | false | undefined): T {
  if (found) return found
  throw new AppError('not_found', 'Webhook endpoint not found: GET /api/v1/webhooks lists yours.', { parameter: 'id' })
}
