/** What differs where Redis is a cluster: how it is opened, what its keys are called, and that a command takes keys of one slot only. */
import { crc32 } from 'node:zlib'
import { Cluster, type Redis, type RedisOptions } from 'ioredis'

export type RedisClient = Redis | Cluster

/** Of a connection to one server. */
export type NodeOptions = Omit<RedisOptions, 'replyMapping'>

export const isCluster = (redis: RedisClient): redis is Cluster => redis.isCluster

/** Whether a URL says that it leads to a cluster: `redis://HOST:6379?cluster=HOST:6379,HOST:6379`, the other nodes being optional. */
export const leadsToCluster = (url: string): boolean => new URL(url).searchParams.has('cluster')

/** A command that meets a node which has just lost its slot, or has just died, is sent again so often. */
const REDIRECTIONS = 3
const MAX_LISTENERS = 30
/** Without it ioredis learns of a failover from errors alone, and a node that hangs answers with none. */
const LOOK_EVERY_MS = 5000

/** Of each cluster that was opened, the nodes that its URL names. */
const namedNodes = new WeakMap<Cluster, readonly { readonly host: string; readonly port: number }[]>()

/** How to ask a node that the URL names by itself. */
export const firstNodeOf = (cluster: Cluster): NodeOptions => ({
  ...cluster.options.redisOptions,
  ...namedNodes.get(cluster)?.[0],
})

/** Whether the URL names a node by this host; the others are called as the nodes announce themselves. */
export const isNamedInUrl = (cluster: Cluster, host: string | undefined): boolean =>
  namedNodes.get(cluster)?.some((node) => node.host === host) ?? false

/**
 * Opens a cluster by any of the nodes that the URL names; the others it finds itself.
 * @param options for the connection to each node
 */
export function openCluster(url: string, options: NodeOptions, retryStrategy: (attempt: number) => number): Cluster {
  const { host, username, password, searchParams } = new URL(url)
  const others = (searchParams.get('cluster') ?? '').split(',').filter(Boolean)
  const { enableOfflineQueue = true, maxRetriesPerRequest, ...nodeOptions } = options
  const nodes = [host, ...others].map((address) => {
    const { hostname, port } = new URL(`redis://${address}`)
    return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 6379) }
  })
  const cluster = new Cluster(nodes, {
    slotsRefreshInterval: LOOK_EVERY_MS,
    clusterRetryStrategy: retryStrategy,
    enableOfflineQueue,
    // Commands for a node that is away must not wait for it: a replica may have taken over.
    clusterNodeRetryStrategy: null,
    // Null: who waits for a single Redis as long as it takes, waits for a failover, too.
    maxRedirections: maxRetriesPerRequest === null ? 1000 : REDIRECTIONS,
    // The names of nodes are what certificates of TLS are for.
    dnsLookup: (address, found) => found(null, address),
    redisOptions: {
      ...nodeOptions,
      ...(maxRetriesPerRequest !== undefined && { maxRetriesPerRequest }),
      ...(username && { username: decodeURIComponent(username) }),
      ...(password && { password: decodeURIComponent(password) }),
    },
  })
  namedNodes.set(cluster, nodes)
  // BullMQ's queues and workers listen on it, too.
  return cluster.setMaxListeners(MAX_LISTENERS)
}

/** So many that they spread over the nodes, and so few that many accounts share a command. */
const SHARDS = 32

/**
 * Names keys. In a cluster the part in braces chooses the node: the keys of an account lie in one of SHARDS slots. A single
 * Redis has the names without it, as in all releases.
 */
export const keyNamer = (redis: RedisClient, prefix: string): ((name: string) => string) =>
  isCluster(redis) ? (name) => `${shardTag(prefix, crc32(name) % SHARDS)}:${name}` : (name) => `${prefix}:${name}`

const shardTag = (prefix: string, shard: number | '*') => `{${prefix}:${shard}}`

/** The pattern of all keys whose names begin so, in a form that SCAN takes. */
export const keyPattern = (redis: RedisClient, prefix: string, start: string): string =>
  isCluster(redis) ? `${shardTag(prefix, '*')}:${start}*` : `${prefix}:${start}*`

/** What keys begin with, one for each slot that keys of this prefix lie in, BullMQ's among them; in a single Redis the prefix. */
export const slotPrefixes = (redis: RedisClient, prefix: string): readonly string[] =>
  isCluster(redis)
    ? [`{${prefix}}`, ...Array.from({ length: SHARDS }, (_, shard) => shardTag(prefix, shard))]
    : [prefix]

/**
 * Calls once for all items whose keys a command may name together: in a single Redis once. @param call resolves to an answer
 * for each key. @returns the answers in the order of the items
 */
export async function perSlot<Item, Answer>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
  call: (keys: readonly string[], items: readonly Item[]) => Promise<readonly Answer[]>,
): Promise<Answer[]> {
  const groups = new Map<string, number[]>()
  for (const [index, item] of items.entries()) {
    const [tag = ''] = /^\{.*?\}/.exec(keyOf(item)) ?? []
    const group = groups.get(tag)
    if (group) group.push(index)
    else groups.set(tag, [index])
  }
  const answers = new Array<Answer>(items.length)
  await Promise.all(
    [...groups.values()].map(async (indexes) => {
      const its = indexes.map((index) => items[index] as Item)
      const got = await call(its.map(keyOf), its)
      for (const [n, index] of indexes.entries()) answers[index] = got[n] as Answer
    }),
  )
  return answers
}

/** The masters of a cluster, each of which has some of the keys and memory of its own; or the single Redis. */
export const masterNodes = (redis: RedisClient): readonly Redis[] =>
  isCluster(redis) ? redis.nodes('master') : [redis]

/** All keys that fit the pattern, in pages; one may come twice. */
export async function* scanKeys(redis: RedisClient, match: string, count: number): AsyncGenerator<string[]> {
  for (const node of masterNodes(redis))
    for await (const keys of node.scanStream({ match, count }) as AsyncIterable<string[]>)
      if (keys.length > 0) yield keys
}
