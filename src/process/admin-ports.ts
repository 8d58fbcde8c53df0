import { requirePricesAt } from '../core/billing/checked-prices.js'
import type { PaymentProvider } from '../core/billing/payment-provider.js'
import type { ModelStore } from '../core/catalog/model-version.js'
import { clearLeftovers } from '../core/generations/cancel.js'
import type { SubmitPorts } from '../core/generations/submit/ports.js'
import type { ImageFiles, ImageStore } from '../core/images/ports.js'
import { runAgain } from '../core/operator/run-again.js'
import { modelsServed } from '../core/operator/serving.js'
import { auditResults } from '../db/audit/audit-results.js'
import { operatorGenerationStore } from '../db/generations/history.js'
import { adminRequestStore } from '../db/operator/admin-requests.js'
import { administration, recordedIn } from '../db/operator/administration.js'
import { operatorModelStore } from '../db/operator/catalog.js'
import { operatorActionStore } from '../db/operator/operator-actions.js'
import { oversight } from '../db/operator/overview.js'
import type { AdminPorts } from '../http/admin-api/plugin.js'
import type { Config } from './config.js'
import { exportOf } from './export-account.js'
import type { Foundation } from './foundation.js'
import { reportOf } from './generation-report.js'
import { prepareEntries } from './import-models.js'
import { toServedEntry } from './model-entry.js'
import { purgeOf } from './purge-account.js'
import { storedPrices } from './required-prices.js'

/** What /admin/v1 calls. @param submits for what is run again */
export const adminPorts = (
  config: Config,
  { db, reads, lock, queue }: Pick<Foundation, 'db' | 'reads' | 'lock' | 'queue'>,
  images: Pick<ImageStore, 'remove' | 'url'> & Pick<ImageFiles, 'read'>,
  submits: SubmitPorts & { readonly models: ModelStore },
  provider: PaymentProvider | undefined,
): AdminPorts => ({
  administration: administration(db),
  recorded: recordedIn(db),
  requests: adminRequestStore(db),
  purge: purgeOf(db, config),
  exportOf: exportOf(db, images),
  requirePrices: requirePricesAt(provider, storedPrices(db)),
  models: {
    list: async () => (await modelsServed(operatorModelStore(db))).map(toServedEntry),
    prepare: (entries) => prepareEntries(db, entries),
  },
  async report(id) {
    const found = await operatorGenerationStore(db).find(id)
    return found && reportOf(found, images.url)
  },
  runAgain: (by, id, how) =>
    runAgain({ ...submits, oversight: oversight(db, reads), operatorActions: operatorActionStore(db) }, by, id, how),
  oversight: oversight(db, reads),
  operatorActions: operatorActionStore(db),
  auditResults: auditResults(db.pool),
  outside: {
    clearLeftovers: (ended) => clearLeftovers({ lock, queue, images }, ended),
    // What can't be removed now is tried again: the row says that it must go.
    removeImage: (slug) => images.remove(slug).catch(() => undefined),
  },
})
