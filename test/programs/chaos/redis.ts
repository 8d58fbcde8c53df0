import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { type RedisServer, startRedis } from '../../support/redis-server.js'
import type { Watchdog } from './watchdog.js'

export interface AttackedRedis {
  /** Past the proxy, for looking into it; another one after each start. */
  url(): string
  kill(): Promise<void>
  /** Empty again. */
  start(): Promise<void>
  pause(): void
  resume(): void
  flush(): Promise<void>
  stop(): Promise<void>
}

/** @param onPort told where it listens after each start */
export async function startAttackedRedis(
  directory: string,
  watchdog: Watchdog,
  onPort: (port: number) => void,
): Promise<AttackedRedis> {
  let running: { readonly server: RedisServer; readonly pid: number } | undefined
  const signal = (name: NodeJS.Signals) => {
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
    onPort(Number(port))
  }
  const kill = async () => {
    signal('SIGCONT')
    const killed = running
    running = undefined
    if (!killed) return
    await killed.server.stop()
    watchdog.forget(killed.pid)
  }
  await start()
  return {
    url: () => running?.server.url ?? '',
    kill,
    start,
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    async flush() {
      const client = new Redis(running?.server.url ?? '')
      await client.flushall().finally(() => client.disconnect())
    },
    stop: kill,
  }
}
