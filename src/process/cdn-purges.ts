import { purgedAgain, startLaterPurges } from '../core/images/takedown.js'
import type { Database } from '../db/client.js'
import { laterPurges } from '../db/images/cdn-purges.js'
import { cdnPurge } from '../outbound/cdn-purge.js'
import type { Config } from './config.js'

/** How the CDN is purged, now and once more later; undefined: there is none. */
export function cdnPurges(config: Pick<Config, 'cdnPurgeUrl' | 'cdnBaseUrl' | 'baseUrl'>, db: Database) {
  if (config.cdnPurgeUrl === undefined) return undefined
  const purge = cdnPurge(config.cdnPurgeUrl, config)
  const later = laterPurges(db)
  return {
    purge: purgedAgain(purge, later),
    startLater: (onFault: (error: unknown) => void) => startLaterPurges({ later, purge }, onFault),
  }
}
