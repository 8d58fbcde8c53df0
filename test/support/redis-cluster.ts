/** A real Redis cluster on loopback: three masters, with a replica each or without. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { findRedis } from './redis-server.js'

export interface ClusterNode {
  readonly port: number
  readonly process: ChildProcess
}

export interface RedisCluster {
  /** As REDIS_URL names it. */
  readonly url: string
  readonly nodes: readonly ClusterNode[]
  /** The node that has the slot of a key. */
  masterOf(key: string): Promise<ClusterNode>
  stop(): Promise<void>
}

const MASTERS = 3
const SLOTS = 16_384
/** A node that was not heard of for so long is taken for dead, and its replica takes over. */
const NODE_TIMEOUT_MS = 2000
const FORMED_WITHIN_MS = 60_000

/** @param directory for what the nodes keep; it is the caller's to remove */
export async function startRedisCluster(directory: string, { replicas = true } = {}): Promise<RedisCluster> {
  const program = findRedis()
  if (!program) throw new Error('A cluster needs redis-server or valkey-server on the PATH.')
  const nodes: ClusterNode[] = []
  const clients: Redis[] = []
  const stop = async () => {
    for (const client of clients) client.disconnect()
    await Promise.all(nodes.map(({ process }) => ended(process)))
  }
  try {
    const count = replicas ? 2 * MASTERS : MASTERS
    for (let i = 0; i < count; i++) nodes.push(await startNode(program, join(directory, `node-${i}`)))
    for (const { port } of nodes) clients.push(new Redis(port, '127.0.0.1').on('error', () => undefined))
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
    await untilTrue(
      async () => (await Promise.all(clients.map((it) => isFormed(it, count)))).every(Boolean),
      'every node sees all slots served and all replicas in step',
    )
    const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`)
    return {
      url: `redis://${addresses[0]}?cluster=${addresses.slice(1).join(',')}`,
      nodes,
      async masterOf(key) {
        const alive = clients.find((it) => it.status === 'ready') as Redis
        const slot = Number(await alive.call('CLUSTER', 'KEYSLOT', key))
        const ranges = (await alive.call('CLUSTER', 'SLOTS')) as [number, number, [string, number]][]
        const [, , [, port]] = ranges.find(([from, to]) => from <= slot && slot <= to) as (typeof ranges)[0]
        return nodes.find((it) => it.port === port) as ClusterNode
      },
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

async function isFormed(node: Redis, count: number): Promise<boolean> {
  const facts = `${await node.call('CLUSTER', 'INFO')}`
  const isServed = /cluster_state:ok/.test(facts) && facts.includes(`cluster_known_nodes:${count}`)
  if (count === MASTERS) return isServed
  return isServed && /^connected_slaves:1|^master_link_status:up/m.test(await node.info('replication'))
}

/** A node also takes the port that is higher by 10,000, which may be somebody's: then it ends, and gets other ports. */
async function startNode(program: string, home: string): Promise<ClusterNode> {
  await mkdir(home, { recursive: true })
  for (let tries = 1; tries <= 20; tries++) {
    const port = await lowPort()
    const process = spawn(
      program,
      [
        ...['--port', `${port}`, '--bind', '127.0.0.1', '--dir', home, '--logfile', join(home, 'redis.log')],
        ...['--save', '', '--maxmemory-policy', 'noeviction'],
        ...['--cluster-enabled', 'yes', '--cluster-config-file', `nodes-${port}.conf`],
        ...['--cluster-node-timeout', `${NODE_TIMEOUT_MS}`, '--cluster-replica-validity-factor', '0'],
      ],
      { stdio: 'ignore' },
    )
    const probe = new Redis(port, '127.0.0.1', { maxRetriesPerRequest: null, retryStrategy: () => 50 })
    probe.on('error', () => undefined)
    const exit = once(process, 'exit').then(() => false)
    const isUp = await Promise.race([probe.ping().then(() => true), exit])
    probe.disconnect()
    if (isUp) return { port, process }
  }
  throw new Error(`A node of the cluster ended each time instead of starting: its log is in ${home}.`)
}

/** One whose neighbour, 10,000 higher, is a port, too. */
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

async function untilTrue(look: () => Promise<boolean>, what: string): Promise<void> {
  for (const end = Date.now() + FORMED_WITHIN_MS; !(await look()); await delay(50))
    if (Date.now() > end) throw new Error(`A cluster was not formed: waited until ${what}.`)
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}
