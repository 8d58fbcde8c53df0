/** A master of Redis with a replica, and three sentinels that put the replica in its place when it is gone. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from './free-port.js'
import {
  clientOf,
  endNode,
  type RedisNode,
  type ReplicatedRedis,
  restartNode,
  startNode,
  untilTrue,
} from './redis-nodes.js'
import { REDIS_DATABASES } from './redis-server.js'

const SENTINELS = 3
/** What the sentinels call the master. */
const NAME = 'easel'
const DOWN_AFTER_MS = 1500
const FAILOVER_TIMEOUT_MS = 5000

/**
 * @param directory for what the servers keep; it is the caller's to remove
 * @returns its `url` is without the number of a database: one goes into its path
 */
export async function startRedisSentinel(directory: string): Promise<ReplicatedRedis> {
  const nodes: RedisNode[] = []
  const sentinels: RedisNode[] = []
  const clients = new Map<number, ReturnType<typeof clientOf>>()
  const client = (node: RedisNode) => {
    const its = clients.get(node.port) ?? clientOf(node)
    clients.set(node.port, its)
    return its
  }
  const start = (index: number, port: () => number | Promise<number>, ...replicaOf: readonly string[]) =>
    startNode(join(directory, `node-${index}`), port, () => [
      ...['--maxmemory-policy', 'noeviction', '--databases', `${REDIS_DATABASES}`],
      ...(replicaOf.length > 0 ? ['--replicaof', ...replicaOf] : []),
    ])
  const stop = async () => {
    for (const each of clients.values()) each.disconnect()
    await Promise.all([...sentinels, ...nodes].map(endNode))
  }
  const ask = (...command: [string, string, ...string[]]) =>
    Promise.any(sentinels.map((it) => client(it).call('SENTINEL', ...command)))
  const masterPort = async () => Number(((await ask('get-master-addr-by-name', NAME)) as [string, string])[1])
  const master = async () => {
    const port = await masterPort()
    return nodes.find((it) => it.port === port) as RedisNode
  }
  const replicationOf = (node: RedisNode) => client(node).info('replication')
  const isServed = async () => /^role:master/m.test(await replicationOf(await master()))
  const isWhole = async () => {
    const its = await master()
    const others = nodes.filter((it) => it !== its)
    const replication = await replicationOf(its)
    const links = await Promise.all(others.map(replicationOf))
    const known = (await Promise.all(
      sentinels.map((it) => client(it).call('SENTINEL', 'replicas', NAME)),
    )) as unknown[][]
    return (
      /^role:master/m.test(replication) &&
      replication.includes(`connected_slaves:${others.length}`) &&
      links.every((it) => /^master_link_status:up/m.test(it) && it.includes(`master_port:${its.port}`)) &&
      known.every((it) => it.length === others.length)
    )
  }
  const served = () => untilTrue(() => isServed().catch(() => false), 'the sentinels know a master that answers')
  const whole = () => untilTrue(() => isWhole().catch(() => false), 'the sentinels know a master and its replica')
  try {
    nodes.push(await start(0, freePort))
    const [first] = nodes as [RedisNode]
    nodes.push(await start(1, freePort, '127.0.0.1', `${first.port}`))
    for (let i = 0; i < SENTINELS; i++) {
      const home = join(directory, `sentinel-${i}`)
      const file = `${home}.conf`
      await writeFile(file, sentinelSettings(first.port))
      sentinels.push(await startNode(home, freePort, () => [file, '--sentinel']))
    }
    await untilTrue(
      async () =>
        (await Promise.all(sentinels.map((it) => client(it).call('SENTINEL', 'sentinels', NAME)))).every(
          (it) => (it as unknown[]).length === SENTINELS - 1,
        ),
      'the sentinels know each other',
    )
    await whole()
    const addresses = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')
    return {
      url: `redis://${NAME}?sentinels=${addresses}`,
      nodes,
      sentinels,
      masters: async () => [await master()],
      async restart(node) {
        const port = await masterPort()
        const replicaOf = port === node.port ? [] : ['127.0.0.1', `${port}`]
        return restartNode(nodes, node, (index) => start(index, () => node.port, ...replicaOf))
      },
      served,
      whole,
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

const sentinelSettings = (port: number) => `sentinel monitor ${NAME} 127.0.0.1 ${port} 2
sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER_MS}
sentinel failover-timeout ${NAME} ${FAILOVER_TIMEOUT_MS}
sentinel parallel-syncs ${NAME} 1
`
