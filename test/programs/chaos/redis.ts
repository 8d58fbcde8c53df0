/** The Redis that a run breaks: one server, or several of which others take over. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { startRedisCluster } from '../../support/redis-cluster.js'
import { endNode, type RedisNode, type ReplicatedRedis } from '../../support/redis-nodes.js'
import { startRedisSentinel } from '../../support/redis-sentinel.js'
import { type RedisServer, startRedis } from '../../support/redis-server.js'
import type { Seeded } from '../../support/seeded.js'
import { startProxy, type TcpProxy } from './proxy.js'
import type { Watchdog } from './watchdog.js'

export type RedisKind = 'single' | 'sentinel' | 'cluster'

export interface AttackedRedis {
  /** What Easel's processes get as REDIS_URL. */
  readonly serviceUrl: string
  /** Past the network's faults, for looking into it; another one after each start. */
  url(): string
  /** A master, whose replica takes over unless it is back before. */
  kill(): Promise<void>
  /** What was killed comes back empty. Resolves when every key can be used again. */
  start(): Promise<void>
  pause(): Promise<void>
  resume(): Promise<void>
  /** A master loses what it has. */
  flush(): Promise<void>
  /** Resolves when each replica has what its master has. */
  settled(): Promise<void>
  /** The network between Easel and it. */
  readonly net: Readonly<Record<'cut' | 'dropReplies' | 'stall' | 'flow', () => void | Promise<void>>>
  stop(): Promise<void>
}

interface RedisOptions {
  readonly directory: string
  readonly watchdog: Watchdog
  readonly chance: Seeded
}

const STARTS: Readonly<Record<RedisKind, (options: RedisOptions) => Promise<AttackedRedis>>> = {
  single: attackedServer,
  sentinel: (options) => attackedReplicas(startRedisSentinel, options),
  cluster: (options) => attackedReplicas(startRedisCluster, options),
}

export const startAttackedRedis = (kind: RedisKind, options: RedisOptions) => STARTS[kind](options)

async function attackedServer({ directory, watchdog }: RedisOptions): Promise<AttackedRedis> {
  let running: { readonly server: RedisServer; readonly pid: number } | undefined
  let proxy: TcpProxy | undefined
  const signal = async (name: NodeJS.Signals) => {
    if (running) process.kill(running.pid, name)
  }
  const start = async () => {
    if (running) return
    const server = await startRedis(directory)
    if (!server) throw new Error('The chaos run needs a redis-server or valkey-server on the PATH: install one.')
    const pid = Number(await readFile(join(directory, 'redis.pid'), 'utf8'))
    const { port } = new URL(server.url)
    watchdog.note(pid, port)
    running = { server, pid }
    proxy?.target(Number(port))
  }
  const kill = async () => {
    await signal('SIGCONT')
    const killed = running
    running = undefined
    if (!killed) return
    await killed.server.stop()
    watchdog.forget(killed.pid)
  }
  await start()
  const url = () => running?.server.url ?? ''
  const net = await startProxy(Number(new URL(url()).port))
  proxy = net
  return {
    serviceUrl: `redis://127.0.0.1:${net.port}`,
    url,
    kill,
    start,
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    async flush() {
      const client = new Redis(url())
      await client.flushall().finally(() => client.disconnect())
    },
    settled: async () => undefined,
    net,
    async stop() {
      await kill()
      net.close()
    },
  }
}

/** Clients find the nodes by addresses that the nodes tell, past any proxy: what the network does elsewhere, nodes do here. */
async function attackedReplicas(
  begin: (directory: string) => Promise<ReplicatedRedis>,
  { directory, watchdog, chance }: RedisOptions,
): Promise<AttackedRedis> {
  const replicas = await begin(join(directory, 'redis'))
  const note = ({ process, port }: RedisNode) => watchdog.note(process.pid as number, `${port}`)
  for (const node of [...replicas.nodes, ...(replicas.sentinels ?? [])]) note(node)
  const oneMaster = async () => chance.pick(await replicas.masters())
  let killed: RedisNode | undefined
  const hanging = () => {
    let node: RedisNode | undefined
    return {
      async begin() {
        node = await oneMaster()
        node.process.kill('SIGSTOP')
      },
      async end() {
        node?.process.kill('SIGCONT')
        node = undefined
        await replicas.served()
      },
    }
  }
  const [fault, net] = [hanging(), hanging()]
  const told = async (node: RedisNode, ...command: [string, ...string[]]) => {
    const client = new Redis(node.port, '127.0.0.1', { commandTimeout: 2000 })
    await client.call(...command).finally(() => client.disconnect())
  }
  return {
    serviceUrl: replicas.url,
    url: () => replicas.url,
    async kill() {
      killed = await oneMaster()
      await endNode(killed)
      watchdog.forget(killed.process.pid as number)
    },
    async start() {
      if (killed) note(await replicas.restart(killed))
      killed = undefined
      await replicas.served()
    },
    pause: fault.begin,
    resume: fault.end,
    settled: replicas.whole,
    flush: async () => told(await oneMaster(), 'FLUSHALL'),
    net: {
      cut: async () => told(await oneMaster(), 'CLIENT', 'KILL', 'TYPE', 'normal'),
      dropReplies: net.begin,
      stall: net.begin,
      flow: net.end,
    },
    stop: replicas.stop,
  }
}
