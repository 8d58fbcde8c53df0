/** A real Redis cluster on loopback: three masters, with a replica each or without. */
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import {
  clientOf,
  endNode,
  type RedisNode,
  type ReplicatedRedis,
  restartNode,
  startNode,
  untilTrue,
} from './redis-nodes.js'

export interface RedisCluster extends ReplicatedRedis {
  /** The node that has the slot of a key. */
  masterOf(key: string): Promise<RedisNode>
}

const MASTERS = 3
const SLOTS = 16_384
/** A node that was not heard of for so long is taken for dead, and its replica takes over. */
const NODE_TIMEOUT_MS = 2000

/** The first and the last slot, and where their master is. */
type Range = [from: number, to: number, master: [host: string, port: number]]

/** @param directory for what the nodes keep; it is the caller's to remove */
export async function startRedisCluster(directory: string, { replicas = true } = {}): Promise<RedisCluster> {
  const nodes: RedisNode[] = []
  const clients: Redis[] = []
  const start = (index: number, port: () => number | Promise<number>) =>
    startNode(join(directory, `node-${index}`), port, settings)
  const stop = async () => {
    for (const client of clients) client.disconnect()
    await Promise.all(nodes.map(endNode))
  }
  const ask = (...command: [string, string, ...string[]]) =>
    Promise.any(clients.filter(({ status }) => status === 'ready').map((it) => it.call(...command)))
  const ranges = async () => (await ask('CLUSTER', 'SLOTS')) as Range[]
  const nodeAt = (port: number) => nodes.find((it) => it.port === port) as RedisNode
  const allSee = async (is: (node: Redis) => Promise<boolean>) =>
    (await Promise.all(clients.map((it) => is(it).catch(() => false)))).every(Boolean)
  const served = () => untilTrue(() => allSee(isServed), 'every node sees all slots served')
  const whole = () =>
    untilTrue(
      () => allSee((it) => isWhole(it, nodes.length)),
      'every node sees all slots served and all replicas in step',
    )
  try {
    for (let i = 0; i < (replicas ? 2 * MASTERS : MASTERS); i++) nodes.push(await start(i, lowPort))
    clients.push(...nodes.map(clientOf))
    const [first] = clients as [Redis]
    const masters = clients.slice(0, MASTERS)
    for (const [i, master] of masters.entries()) {
      const from = Math.ceil((SLOTS * i) / MASTERS)
      await master.call('CLUSTER', 'ADDSLOTSRANGE', `${from}`, `${Math.ceil((SLOTS * (i + 1)) / MASTERS) - 1}`)
      await master.call('CLUSTER', 'SET-CONFIG-EPOCH', `${i + 1}`)
    }
    for (const { port } of nodes) await first.call('CLUSTER', 'MEET', '127.0.0.1', `${port}`)
    const ids = await Promise.all(masters.map(async (it) => `${await it.call('CLUSTER', 'MYID')}`))
    for (const [i, replica] of clients.slice(MASTERS).entries())
      await untilTrue(
        async () => (await replica.call('CLUSTER', 'REPLICATE', ids[i] as string).catch(() => '')) === 'OK',
        `the replica ${i} knows its master`,
      )
    await whole()
    const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`)
    return {
      url: `redis://${addresses[0]}?cluster=${addresses.slice(1).join(',')}`,
      nodes,
      async masterOf(key) {
        const slot = Number(await ask('CLUSTER', 'KEYSLOT', key))
        const [, , [, port]] = (await ranges()).find(([from, to]) => from <= slot && slot <= to) as Range
        return nodeAt(port)
      },
      async masters() {
        return [...new Set((await ranges()).map(([, , [, port]]) => port))].map(nodeAt)
      },
      restart: (node) => restartNode(nodes, node, (index) => start(index, () => node.port)),
      served,
      whole,
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

const settings = (port: number) => [
  ...['--maxmemory-policy', 'noeviction', '--cluster-enabled', 'yes', '--cluster-config-file', `nodes-${port}.conf`],
  ...['--cluster-node-timeout', `${NODE_TIMEOUT_MS}`, '--cluster-replica-validity-factor', '0'],
]

const isServed = async (node: Redis) => /cluster_state:ok/.test(`${await node.call('CLUSTER', 'INFO')}`)

async function isWhole(node: Redis, count: number): Promise<boolean> {
  const isKnown = `${await node.call('CLUSTER', 'INFO')}`.includes(`cluster_known_nodes:${count}`)
  if (!isKnown || !(await isServed(node))) return false
  return count === MASTERS || /^connected_slaves:1|^master_link_status:up/m.test(await node.info('replication'))
}

/** A node of a cluster also takes the port that is higher by 10,000. */
async function lowPort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true))
    })
    await new Promise((resolve) => server.close(resolve))
    if (isFree) return port
  }
}
