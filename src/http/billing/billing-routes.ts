import type { PaymentReceiver } from '../../core/billing/receive.js'
import { AppError } from '../../core/errors.js'
import { occasionally } from '../../core/log.js'
import type { App } from '../shared/fastify-app.js'

export interface BillingOptions {
  /** Of the payment provider: `stripe`. */
  readonly provider: string
  readonly receiver: PaymentReceiver
}

const BODY_LIMIT = 1024 * 1024

const refused = () =>
  new AppError(
    'invalid_request',
    'This event is not signed with the secret of this endpoint, or is too old: check the secret and the clock.',
  )

/** For the payment provider: no part of the API, and of no account's limits. */
export function billingRoutes(app: App, { provider, receiver }: BillingOptions): void {
  const tell = occasionally((events) =>
    app.log.warn({ events }, 'payment events were refused: wrong signature, or too old'),
  )
  // The signature is of the bytes as they came.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

  app.post(`/billing/${provider}`, { bodyLimit: BODY_LIMIT }, async ({ headers, body }, reply) => {
    const signature = headers[`${provider}-signature`]
    const received = Buffer.isBuffer(body) && typeof signature === 'string' && (await receiver.receive(body, signature))
    if (!received || received === 'refused') {
      tell()
      throw refused()
    }
    return reply.send({ received: true })
  })
}
