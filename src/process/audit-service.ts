import { openArchive } from '../db/archive.js'
import { type AuditOptions, audit } from '../db/audit/audit.js'
import type { Check } from '../db/audit/check.js'
import { type AuditRedis, redisUnreachable } from '../db/audit/redis-checks.js'
import { createDatabase } from '../db/client.js'
import { archiveFiles } from '../images/archive-files.js'
import { lockKey, redisActiveGenerationLock } from '../redis/active-generation-lock.js'
import { createAuditRedis, whenReady } from '../redis/client.js'
import { type RedisClient, scanKeys } from '../redis/cluster.js'
import type { Config } from './config.js'
import { wholeImageStore } from './image-files.js'
import { queuePrefix } from './namespace.js'

/** Audits the service that `config` describes, over connections that serve nothing else. */
export async function auditService(
  config: Config,
  options: Pick<AuditOptions, 'sample' | 'signal' | 'pause'> & { readonly namespace?: string },
): Promise<Check[]> {
  const { databaseListenUrl, redisUrl, refundFailed } = config
  const { namespace = config.redisPrefix, ...looks } = options
  const client = redisUrl === undefined ? undefined : createAuditRedis(redisUrl, () => undefined)
  // Asked for nothing but where private images are, and what the archive has.
  const db = createDatabase(config.databaseUrl, { maxConnections: 1, onError: () => undefined })
  try {
    if (client) await whenReady(client)
    if (client && client.status !== 'ready') throw redisUnreachable()
    const redis = client && auditRedis(client, namespace)
    const images = wholeImageStore(config, db)
    const archive = openArchive(db.pool, archiveFiles(config))
    return await audit({ databaseUrl: databaseListenUrl, redis, refundFailed, images, archive, ...looks })
  } finally {
    client?.disconnect()
    await db.pool.end().catch(() => undefined)
  }
}

const auditRedis = (client: RedisClient, namespace: string): AuditRedis => ({
  client,
  queuePrefix: queuePrefix(namespace),
  locks: redisActiveGenerationLock(client, namespace),
  lockKey: lockKey(client, namespace),
  scan: (match, count) => scanKeys(client, match, count),
})
