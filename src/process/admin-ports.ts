import { requirePricesAt } from '../core/billing/checked-prices.js'
import type { PaymentProvider } from '../core/billing/payment-provider.js'
import { clearLeftovers } from '../core/generations/cancel.js'
import type { ImageStore } from '../core/images/ports.js'
import { auditResults } from '../db/audit/audit-results.js'
import { adminRequestStore } from '../db/operator/admin-requests.js'
import { administration, recordedIn } from '../db/operator/administration.js'
import { operatorActionStore } from '../db/operator/operator-actions.js'
import { oversight } from '../db/operator/overview.js'
import type { AdminPorts } from '../http/admin-api/plugin.js'
import type { Config } from './config.js'
import type { Foundation } from './foundation.js'
import { purgeOf } from './purge-account.js'

/** What /admin/v1 calls. @param images where a file that is removed lies */
export const adminPorts = (
  config: Config,
  { db, lock, queue }: Pick<Foundation, 'db' | 'lock' | 'queue'>,
  images: Pick<ImageStore, 'remove'>,
  provider: PaymentProvider | undefined,
): AdminPorts => ({
  administration: administration(db),
  recorded: recordedIn(db),
  requests: adminRequestStore(db),
  purge: purgeOf(db, config),
  requirePrices: requirePricesAt(provider),
  oversight: oversight(db),
  operatorActions: operatorActionStore(db),
  auditResults: auditResults(db.pool),
  outside: {
    clearLeftovers: (ended) => clearLeftovers({ lock, queue, images }, ended),
    // What can't be removed now is tried again: the row says that it must go.
    removeImage: (slug) => images.remove(slug).catch(() => undefined),
  },
})
