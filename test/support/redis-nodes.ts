/** Servers of Redis of which another one takes over when one is gone: redis-cluster.ts and redis-sentinel.ts. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { findRedis } from './redis-server.js'

export interface RedisNode {
  readonly port: number
  readonly process: ChildProcess
}

export interface ReplicatedRedis {
  /** As REDIS_URL names it. */
  readonly url: string
  readonly nodes: readonly RedisNode[]
  /** Who decide which node takes over, where the nodes do not. */
  readonly sentinels?: readonly RedisNode[]
  /** The nodes that take writes now. */
  masters(): Promise<RedisNode[]>
  /** Starts a node that has ended again, at its port and with nothing in it. */
  restart(node: RedisNode): Promise<RedisNode>
  /** Until every key can be read and written. */
  served(): Promise<void>
  /** Until then, and each replica has what its master has. */
  whole(): Promise<void>
  stop(): Promise<void>
}

const WHOLE_WITHIN_MS = 60_000
const STARTS_TRIED = 20
/** One that hangs does not. */
const ANSWERS_WITHIN_MS = 2000

export function redisProgram(): string {
  const program = findRedis()
  if (!program) throw new Error('This needs redis-server or valkey-server on the PATH: install one.')
  return program
}

/**
 * Without persistence.
 * @param home its directory
 * @param port where it shall listen; called again where that is somebody else's already
 */
export async function startNode(
  home: string,
  port: () => number | Promise<number>,
  settings: (port: number) => readonly string[],
): Promise<RedisNode> {
  await mkdir(home, { recursive: true })
  for (let tries = 1; tries <= STARTS_TRIED; tries++) {
    const at = await port()
    const started = spawn(
      redisProgram(),
      [
        ...settings(at),
        ...['--port', `${at}`, '--bind', '127.0.0.1', '--dir', home, '--logfile', `${home}/redis.log`, '--save', ''],
      ],
      { stdio: 'ignore' },
    )
    const probe = new Redis(at, '127.0.0.1', { maxRetriesPerRequest: null, retryStrategy: () => 50 })
    probe.on('error', () => undefined)
    const exit = once(started, 'exit').then(() => false)
    const isUp = await Promise.race([probe.ping().then(() => true), exit])
    probe.disconnect()
    if (isUp) return { port: at, process: started }
    await delay(50)
  }
  throw new Error(`A node of Redis ended each time instead of starting: its log is in ${home}.`)
}

/** Puts a node that has ended and starts again in its place among the others. @param start as it was started, with its number */
export async function restartNode(
  nodes: RedisNode[],
  node: RedisNode,
  start: (index: number) => Promise<RedisNode>,
): Promise<RedisNode> {
  const index = nodes.indexOf(node)
  const again = await start(index)
  nodes[index] = again
  return again
}

/** For asking a node alone, for as long as it lives and after it has been restarted. */
export const clientOf = ({ port }: RedisNode): Redis =>
  new Redis(port, '127.0.0.1', { commandTimeout: ANSWERS_WITHIN_MS, retryStrategy: () => 100 }).on(
    'error',
    () => undefined,
  )

export async function untilTrue(look: () => Promise<boolean>, what: string): Promise<void> {
  for (const end = Date.now() + WHOLE_WITHIN_MS; !(await look()); await delay(50))
    if (Date.now() > end) throw new Error(`The nodes of Redis did not agree: waited until ${what}.`)
}

export async function endNode({ process }: RedisNode): Promise<void> {
  if (process.exitCode !== null || process.signalCode !== null) return
  const exit = once(process, 'exit')
  process.kill('SIGKILL')
  await exit
}
