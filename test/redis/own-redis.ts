import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startRedis } from '../support/redis-server.js'

/** A Redis for one test alone, which may do to it what no other test would survive. */
export interface OwnRedis {
  readonly url: string
  readonly port: number
  /** Stands still: connections stay open, and what is sent is executed after `resume`. */
  pause(): void
  resume(): void
  /** Ends it at once; nothing of what it held is left. */
  kill(): Promise<void>
}

export async function startOwnRedis(): Promise<OwnRedis> {
  const directory = await mkdtemp(join(tmpdir(), 'easel-redis-'))
  const server = await startRedis(directory)
  if (!server) throw new Error('Redis was there a moment ago')
  const pid = Number(await readFile(join(directory, 'redis.pid'), 'utf8'))
  let alive = true
  return {
    url: server.url,
    port: Number(new URL(server.url).port),
    pause: () => process.kill(pid, 'SIGSTOP'),
    resume: () => process.kill(pid, 'SIGCONT'),
    async kill() {
      if (!alive) return
      alive = false
      await server.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
