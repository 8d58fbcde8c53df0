import { isIP, type LookupFunction } from 'node:net'
import { Webhook } from 'standardwebhooks'
import type { Agent } from 'undici'
import type { WebhookSender } from '../core/webhooks/ports.js'
import type { ClaimedDelivery, DeliveryFault, SendOutcome } from '../core/webhooks/webhook.js'
import { timeLimit } from '../lib/abort-signals.js'
import { causesOf, isTlsFailure } from '../lib/causes.js'
import {
  type AddressPolicy,
  resolveHost as byName,
  type ResolveHost,
  type TargetOptions,
  webhookTargets,
} from './webhook-targets.js'

export interface SenderOptions extends TargetOptions {
  readonly resolveHost?: ResolveHost | undefined
  /** From the DNS query to the answer's headers. */
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 10_000
const CONNECT_TIMEOUT_MS = 5000
/** The answer's body is not used, but received up to this size, so that the receiver sees no error. */
const BODY_LIMIT = 16 * 1024
const BODY_MS = 1000

class AddressRefused extends Error {}
class NameUnknown extends Error {}

/** Sends to public addresses only: checks the addresses that a name resolves to, and connects to one of those. */
export function webhookSender(options: SenderOptions): WebhookSender {
  const { resolveHost = byName, timeoutMs = TIMEOUT_MS, ...target } = options
  const targets = webhookTargets(target)
  // A connect in progress ignores the signal.
  const connectTimeout = Math.min(CONNECT_TIMEOUT_MS, timeoutMs)
  return {
    async send(delivery, body, signal) {
      // Loaded with the first webhook: many servers never send one.
      const { Agent, request } = await import('undici')
      const limit = timeLimit(signal, timeoutMs)
      const ended = new AbortController()
      const guarded = guardedLookup(resolveHost, target.policy, ended.signal)
      // One agent per send: no connection outlives the check of its address.
      const agent = new Agent({ connections: 1, pipelining: 1, connect: { lookup: guarded, timeout: connectTimeout } })
      try {
        // Again, because what the operator allows may have changed.
        targets.require(delivery.url, 'url')
        return await post(request, agent, delivery, body, limit.signal)
      } catch (error) {
        if (signal.aborted) throw error
        return { delivered: false, fault: limit.isOver() ? 'timed_out' : faultOf(error) }
      } finally {
        limit.clear()
        ended.abort()
        await agent.destroy()
      }
    },
  }
}

async function post(
  request: typeof import('undici').request,
  agent: Agent,
  delivery: ClaimedDelivery,
  body: string,
  signal: AbortSignal,
): Promise<SendOutcome> {
  const answer = await request(delivery.url, {
    dispatcher: agent,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': 'Easel-Webhooks/1', ...signatureOf(delivery, body) },
    body,
    signal,
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: BODY_MS,
  })
  await answer.body.dump({ limit: BODY_LIMIT, signal: AbortSignal.timeout(BODY_MS) }).catch(() => undefined)
  const { statusCode: status, headers } = answer
  if (status >= 200 && status < 300) return { delivered: true, status }
  const retryAfterSeconds = status === 429 || status === 503 ? secondsIn(headers['retry-after']) : undefined
  return { delivered: false, status, fault: statusFault(status), retryAfterSeconds }
}

const statusFault = (status: number): DeliveryFault => {
  if (status === 410) return 'endpoint_gone'
  return status >= 300 && status < 400 ? 'redirected' : 'status_not_2xx'
}

/** Signs as Standard Webhooks requires: with the time of this try and every secret that is valid now. */
function signatureOf({ eventId, secrets }: ClaimedDelivery, body: string): Record<string, string> {
  const now = new Date()
  return {
    'webhook-id': eventId,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(eventId, now, body)).join(' '),
  }
}

/** undici calls it for names only; IP addresses in URLs are checked by webhookTargets. */
function guardedLookup(resolveHost: ResolveHost, policy: AddressPolicy, signal: AbortSignal): LookupFunction {
  return (hostname, options, callback) => {
    resolveHost(hostname, signal).then(
      (found) => {
        const [first, ...others] = found.map((address) => ({ address, family: isIP(address) }))
        if (!first) return callback(new NameUnknown(), '', 0)
        // One refused address is enough, since any of them may be connected to.
        if (!found.every((address) => policy.allows(address))) return callback(new AddressRefused(), '', 0)
        if (options.all) callback(null, [first, ...others])
        else callback(null, first.address, first.family)
      },
      () => callback(new NameUnknown(), '', 0),
    )
  }
}

const TIMED_OUT = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'ETIMEDOUT'])

function faultOf(error: unknown): DeliveryFault {
  const causes = causesOf(error)
  if (causes.some(({ name, thrown }) => thrown instanceof AddressRefused || name === 'AppError'))
    return 'address_refused'
  if (causes.some(({ thrown }) => thrown instanceof NameUnknown)) return 'dns_failed'
  if (isTlsFailure(error)) return 'tls_failed'
  // Where a name has several addresses, one that is silent counts for all.
  return causes.some(({ code = '' }) => TIMED_OUT.has(code)) ? 'timed_out' : 'connection_failed'
}

/** The seconds of a Retry-After header, in either form. */
export function secondsIn(value: string | string[] | undefined, now = Date.now()): number | undefined {
  if (typeof value !== 'string') return undefined
  if (/^\d{1,9}$/.test(value)) return Number(value)
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / 1000))
}
