import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { SpendingEntry } from '../../../core/accounts/ledger.js'
import type { Shop } from '../../../core/billing/shop.js'
import { AppError } from '../../../core/errors.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { address } from '../../parts/text.js'
import { sessionOf } from '../../shared/session-cookie.js'
import type { BillingView } from './billing.js'

const LATE_MS = 120_000
const RELOAD_SECONDS = 3

/** Of the page to which the provider leads back: what was paid, and when the way to it began. */
export const paidQuery = z.object({
  paid: z.enum(['plan', 'pack']).optional().catch(undefined),
  since: z.coerce.number().int().nonnegative().optional().catch(undefined),
})

/** @param entries the latest of the ledger */
export async function billingView(
  shop: Shop,
  accountId: string,
  { paid, since = 0 }: z.output<typeof paidQuery>,
  entries: readonly SpendingEntry[],
): Promise<BillingView> {
  const [offers, own, ofCustomer] = await Promise.all([
    shop.offers(),
    shop.subscription(accountId),
    shop.packsUnderway(accountId),
  ])
  const underway = ofCustomer ?? []
  const hasCome =
    paid === 'pack'
      ? underway.length > 0 ||
        entries.some(({ kind, createdAt }) => kind === 'purchase' && createdAt.getTime() >= since)
      : own
  return {
    offers,
    own,
    underway,
    isCustomer: ofCustomer !== undefined,
    unconfirmed: hasCome ? undefined : paid,
    isLate: Date.now() - since > LATE_MS,
  }
}

/** Without a script: the page asks again until what was paid has come. */
export function reloadUntilConfirmed(reply: FastifyReply, { unconfirmed, isLate }: BillingView): void {
  if (unconfirmed && !isLate) reply.header('refresh', RELOAD_SECONDS)
}

const order = z.object({ name: z.string().min(1).max(100).catch('') })

/** @param refuse shows the account's page with the sentence */
export function billingRoutes(
  app: App,
  { shop, baseUrl }: { readonly shop: Shop; readonly baseUrl: string },
  refuse: (request: FastifyRequest, reply: FastifyReply, error: AppError) => Promise<FastifyReply>,
): void {
  const account = `${baseUrl}/account`
  const pages = ({ texts }: FastifyRequest, paid: 'plan' | 'pack') => ({
    returnTo: baseUrl + address('/account', { paid, since: Date.now() }),
    ...{ cancelTo: `${account}#buy`, language: texts.language },
  })

  const lead = async (request: FastifyRequest, reply: FastifyReply, to: () => Promise<string>) => {
    try {
      return await reply.redirect(await to(), 303)
    } catch (error) {
      if (error instanceof AppError) return refuse(request, reply, error)
      throw error
    }
  }
  const buyerOf = (request: FastifyRequest) => {
    const { caller, email, language } = sessionOf(request)
    return { id: caller.account.id, username: caller.account.username, email, language }
  }

  app.post('/account/billing/plan', { schema: { body: order } }, (request, reply) =>
    lead(request, reply, () => shop.buyPlan(buyerOf(request), request.body.name, pages(request, 'plan'))),
  )
  app.post('/account/billing/pack', { schema: { body: order } }, (request, reply) =>
    lead(request, reply, () => shop.buyPack(buyerOf(request), request.body.name, pages(request, 'pack'))),
  )
  app.post('/account/billing', (request, reply) =>
    lead(request, reply, () =>
      shop.manage(buyerOf(request), { returnTo: `${account}#buy`, language: request.texts.language }),
    ),
  )
}
