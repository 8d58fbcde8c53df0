/** The connections to an object store, by the AWS SDK. */
import type { S3Client } from '@aws-sdk/client-s3'
import { HttpsProxyAgent } from 'https-proxy-agent'
import { getProxyForUrl } from 'proxy-from-env'
import { proxyFor } from '../lib/no-proxy.js'
import { ALL_FEATURES, LOOKUPS, type Lookup, type PutFeatures } from './s3-capabilities.js'
import type { S3Access } from './storage.js'

/** How often a call is tried in all. */
export const TRIES = 3
const CONNECT_MS = 3000

/** What this process knows of a storage: its connections, and what the check has found. */
interface Known {
  client: Promise<S3Client> | undefined
  features: PutFeatures
  /** Undefined: nobody may look. */
  lookup: Lookup | undefined
  /** It forbids to look at what is not there. */
  hidesMissing: boolean
}

const known = new WeakMap<S3Access, Known>()

/** The same for all that name the same storage. */
export function knownOf(storage: S3Access): Known {
  const unasked = { client: undefined, features: ALL_FEATURES, lookup: LOOKUPS[0], hidesMissing: false }
  const found = known.get(storage) ?? unasked
  known.set(storage, found)
  return found
}

/** Shares what is known of a storage with another part of it. */
export function sameStoreAs<Access extends S3Access>(storage: S3Access, part: Access): Access {
  known.set(part, knownOf(storage))
  return part
}

export async function connect({ endpoint, region, forcePathStyle, key }: S3Access): Promise<S3Client> {
  // Else it prints on stderr, where the log is, that it will want a newer Node one day.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true'
  const { S3Client } = await import('@aws-sdk/client-s3')
  // A store over http:// is in a network of ours.
  const proxy = proxyFor(endpoint ?? `https://s3.${region}.amazonaws.com`, getProxyForUrl)
  // A reader of /cdn holds one for as long as it reads, so there may be as many as readers, whom the server limits.
  const agent = { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY }
  return new S3Client({
    region,
    forcePathStyle,
    ...(endpoint !== undefined && { endpoint }),
    ...(key && { credentials: { accessKeyId: key.id, secretAccessKey: key.secret } }),
    maxAttempts: TRIES,
    // Each put has a checksum of its own, and older stores refuse the SDK's.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      throwOnRequestTimeout: true,
      httpAgent: agent,
      httpsAgent: proxy ? new HttpsProxyAgent(proxy, agent) : agent,
    },
  })
}
