import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from './free-port.js'
import { findProgram, install } from './programs.js'

/** Also what services.ts counts up to. */
export const REDIS_DATABASES = 512

export interface RedisServer {
  readonly url: string
  stop(): Promise<void>
}

/**
 * Starts a Redis of our own on a free loopback port, its log and process ID (`redis.pid`) in `directory`.
 * Undefined, after one line that says why, where there is none and none can be had without a question.
 * @param options.outlives it goes on when this process ends, also by Ctrl-C
 */
export async function startRedis(directory: string, { outlives = false } = {}): Promise<RedisServer | undefined> {
  if (process.env.TEST_REDIS === 'none') return undefined
  const program = findRedis() ?? (await installRedis())
  if (!program) {
    const missing = `No ${PROGRAMS.join(' or ')} on the PATH, and none could be installed`
    if (process.env.CI === 'true') throw new Error(`${missing}: with CI=true the tests need one.`)
    console.log(`${missing}: the Redis half of the tests is skipped. Install Redis 6.2 or newer to run it.`)
    return undefined
  }
  for (let attempt = 1; attempt <= 3; attempt++) {
    const port = await freePort()
    const child = spawn(program, redisArguments(directory, port), { stdio: 'ignore', detached: outlives })
    if (outlives) child.unref()
    if (!(await answers(child, port))) continue
    await writeFile(join(directory, 'redis.port'), String(port))
    return { url: `redis://127.0.0.1:${port}`, stop: () => stopRedis(child) }
  }
  throw new Error(`${program} doesn't start; its log is in ${directory}/redis.log.`)
}

/** The one that `startRedis` has started with this directory, by this process or another, if it still answers. */
export async function runningRedis(directory: string): Promise<RedisServer | undefined> {
  const port = Number(await readFile(join(directory, 'redis.port'), 'utf8').catch(() => ''))
  if (!port || !(await ping(port))) return undefined
  const pid = Number(await readFile(join(directory, 'redis.pid'), 'utf8'))
  return { url: `redis://127.0.0.1:${port}`, stop: async () => void process.kill(pid, 'SIGKILL') }
}

const redisArguments = (directory: string, port: number): string[] => [
  ...['--bind', '127.0.0.1', '--port', String(port), '--databases', String(REDIS_DATABASES)],
  ...['--save', '', '--appendonly', 'no', '--maxmemory-policy', 'noeviction'],
  ...['--dir', directory, '--pidfile', join(directory, 'redis.pid'), '--logfile', join(directory, 'redis.log')],
]

/** With TEST_REDIS this one alone: `redis` or `valkey`. */
const PROGRAMS = /^(?:redis|valkey)$/.test(process.env.TEST_REDIS ?? '')
  ? [`${process.env.TEST_REDIS}-server`]
  : ['redis-server', 'valkey-server']

export const findRedis = (): string | undefined => PROGRAMS.map(findProgram).find((found) => found !== undefined)

async function installRedis(): Promise<string | undefined> {
  for (const name of PROGRAMS) if (await install(name)) return findRedis()
  return undefined
}

/** Whether the server says PONG before it ends. */
async function answers(child: ChildProcess, port: number): Promise<boolean> {
  let ended = false
  child.once('error', () => (ended = true)).once('exit', () => (ended = true))
  for (const deadline = Date.now() + 10_000; !ended && Date.now() < deadline; await delay(10)) {
    if (await ping(port)) return !ended
  }
  child.kill('SIGKILL')
  return false
}

const ping = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port }, () => socket.write('PING\r\n'))
    socket.setTimeout(1000, () => socket.destroy())
    socket.once('data', (data) => {
      resolve(data.toString().startsWith('+PONG'))
      socket.destroy()
    })
    socket.once('error', () => resolve(false)).once('close', () => resolve(false))
  })

async function stopRedis(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL') // nothing in it is worth saving
  await exit
}
