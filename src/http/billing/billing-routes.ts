import type { FastifyReply, FastifyRequest } from 'fastify'
import type { PaymentReceiver } from '../../core/billing/receive.js'
import { AppError, serviceUnavailable } from '../../core/errors.js'
import { occasionally } from '../../core/log.js'
import { createFairSlots, type SlotLimits } from '../shared/fair-slots.js'
import type { App } from '../shared/fastify-app.js'
import { networkOf } from '../shared/networks.js'

export interface BillingOptions {
  /** Of the payment provider: `stripe`. */
  readonly provider: string
  readonly receiver: PaymentReceiver
  /** Only for tests, which do not wait as long. */
  readonly largeBodies?: LargeBodies
}

interface LargeBodies extends SlotLimits {
  /** For the whole of a body. */
  readonly bodyMs: number
}

const BODY_LIMIT = 1024 * 1024
/** Most events are a few kilobytes. */
const SMALL_BODY = 64 * 1024
/**
 * For larger bodies, or of unknown size: whoever has not proved yet to be the provider cannot fill the memory. The provider sends one in
 * a moment; a place is free again before somebody gives up waiting for it.
 */
const LARGE_BODIES: LargeBodies = { total: 8, perHolder: 2, patienceMs: 5000, bodyMs: 2000 }
const RETRY_AFTER_SECONDS = 30

const refused = () =>
  new AppError(
    'invalid_request',
    'This event is not signed with the secret of this endpoint, or is too old: check the secret and the clock.',
  )

/** For the payment provider: no part of the API, and of no account's limits. */
export function billingRoutes(app: App, { provider, receiver, largeBodies = LARGE_BODIES }: BillingOptions): void {
  const tell = occasionally((events) =>
    app.log.warn({ events }, 'payment events were refused: wrong signature, or too old'),
  )
  const places = createFairSlots(largeBodies)
  const isSmall = ({ headers }: FastifyRequest) => Number(headers['content-length'] ?? Number.NaN) <= SMALL_BODY
  const signatureOf = ({ headers }: FastifyRequest) => {
    const signature = headers[`${provider}-signature`]
    return typeof signature === 'string' ? signature : ''
  }
  const refuse = (request: FastifyRequest, reply: FastifyReply, error: AppError) => {
    // What follows is not read: it may be long.
    if (!isSmall(request)) reply.header('connection', 'close')
    throw error
  }

  // The signature is of the bytes as they came.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

  // Anybody may post here. What cannot be signed is refused before its body is read.
  app.addHook('onRequest', async (request, reply) => {
    if (receiver.mayBeSigned(signatureOf(request))) return
    tell()
    refuse(request, reply, refused())
  })
  app.addHook('preParsing', async (request, reply, payload) => {
    if (isSmall(request)) return payload
    const network = networkOf(request.ip)
    const release = places.take(network) ?? (await places.wait(network))
    if (!release) return refuse(request, reply, serviceUnavailable(RETRY_AFTER_SECONDS))
    // When it is answered, and also when its sender goes.
    if (request.raw.socket.destroyed) release()
    else reply.raw.once('close', release)
    const limit = setTimeout(() => request.raw.socket.destroy(), largeBodies.bodyMs)
    for (const event of ['end', 'close']) payload.once(event, () => clearTimeout(limit))
    return payload
  })

  const take = async (request: FastifyRequest, reply: FastifyReply) => {
    const { body } = request
    const received = Buffer.isBuffer(body) && (await receiver.receive(body, signatureOf(request)))
    if (!received || received === 'refused') {
      tell()
      throw refused()
    }
    return reply.send({ received: true })
  }
  // Providers follow no redirect, and many addresses are written with a slash at the end.
  for (const path of [`/billing/${provider}`, `/billing/${provider}/`]) app.post(path, { bodyLimit: BODY_LIMIT }, take)
}
