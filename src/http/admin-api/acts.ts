/** How a request of /admin/v1 acts: as whom, why, and once for an Idempotency-Key. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { invalidParameter } from '../../core/errors.js'
import { type Acting, actingAs, type OutsideActs } from '../../core/operator/acting.js'
import type { AdminRequests } from '../../core/operator/admin-requests.js'
import type { Administration } from '../../core/operator/administration.js'
import { type ActedBy, MAX_REASON_LENGTH, type Recorded } from '../../core/operator/operator-actions.js'
import { isLine } from '../../lib/text.js'
import { hashOf, idempotencyKeyOf } from '../shared/idempotency-key.js'

export interface ActPorts {
  readonly administration: Administration
  readonly recorded: Recorded<Administration>
  readonly requests: AdminRequests
  readonly outside: OutsideActs
}

/** As JSON has it. */
type Wire<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? Wire<Item>[]
    : T extends object
      ? { [Name in keyof T]: Wire<T[Name]> }
      : T

export interface Answer<Body> {
  /** 200 unless it is another one. */
  readonly status?: number
  readonly body: Body
  /** What a repeat is answered, where `body` has something that is shown once. */
  readonly repeated?: object
}

/** Does what the request asks for. @returns the body of its answer */
export async function act<Body extends object>(
  request: FastifyRequest,
  reply: FastifyReply,
  ports: ActPorts,
  work: (acting: Acting<Administration>) => Promise<Answer<Body>>,
): Promise<Wire<Body>> {
  const by = actedBy(request)
  const key = request.method === 'POST' ? idempotencyKeyOf(request) : undefined
  if (key === undefined) {
    const { administration: stores, recorded, outside } = ports
    const { status = 200, body } = await work(actingAs({ stores, recorded, outside }, by))
    reply.code(status)
    return body as Wire<Body>
  }
  const later: (() => Promise<void>)[] = []
  const outside: OutsideActs = {
    clearLeftovers: async (ended) => void later.push(() => ports.outside.clearLeftovers(ended)),
    removeImage: async (slug) => void later.push(() => ports.outside.removeImage(slug)),
  }
  const hash = hashOf(`${request.method} ${request.url.split('?', 1)[0]}`, request.body ?? {})
  const outcome = await ports.requests.once({ keyId: request.caller.keyId, key, hash }, async (within) => {
    const { status = 200, body, repeated = body } = await work(actingAs({ ...within, outside }, by))
    return { status, body: repeated, shown: body }
  })
  if ('first' in outcome) {
    reply.header('idempotent-replayed', 'true').code(outcome.first.status)
    return outcome.first.body as Wire<Body>
  }
  for (const finish of later) await finish()
  reply.code(outcome.done.status)
  return outcome.done.shown as Wire<Body>
}

/** Who acts, and why: as the header X-Reason or the body's field says. @throws invalid_request */
export function actedBy({ caller, headers, body }: FastifyRequest): ActedBy {
  const { account, keyName, keyId } = caller
  const given = headers['x-reason'] ?? (body as { readonly reason?: string } | null | undefined)?.reason ?? ''
  // Node reads headers as Latin-1.
  const reason = headers['x-reason'] === undefined ? `${given}` : Buffer.from(`${given}`, 'latin1').toString()
  if (reason !== '' && !isLine(reason, MAX_REASON_LENGTH))
    throw invalidParameter('reason', `reason must be one line of 1 to ${MAX_REASON_LENGTH} characters.`)
  return { actor: `${account.username} (key ${keyName || keyId})`, reason }
}

/** @throws invalid_request unless the request says why */
export function requireReason({ by: { reason } }: Acting<unknown>): string {
  if (reason !== '') return reason
  throw invalidParameter('reason', 'reason is missing: say why in the field reason or the header X-Reason.')
}
