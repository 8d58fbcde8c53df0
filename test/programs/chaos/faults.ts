import { setTimeout as delay } from 'node:timers/promises'
import type { Seeded } from '../../support/seeded.js'
import type { Gpus } from './gpus.js'
import type { ImageDirectory } from './image-directory.js'
import type { Till } from './payers.js'
import type { AttackedPostgres } from './postgres.js'
import type { TcpProxy } from './proxy.js'
import type { AttackedRedis } from './redis.js'
import { type ComfyuiFault, type Fault, type Scheduled, WORKERS } from './schedule.js'
import type { Supervised } from './supervised.js'
import type { Windows } from './windows.js'

export interface Victims {
  readonly servers: readonly Supervised[]
  readonly workers: readonly Supervised[]
  readonly redis: AttackedRedis
  readonly postgres: AttackedPostgres
  readonly postgresNet: TcpProxy
  readonly gpus: Gpus
  readonly images: ImageDirectory
  readonly till: Till
  /** The operator imports the workflow with a change. */
  readonly changeWorkflow: () => Promise<void>
  readonly windows: Windows
}

export interface FaultOptions {
  readonly chance: Seeded
  readonly onInjected: (kind: string) => void
  /** Redis answers again, and is empty. */
  readonly onRedisBack: () => void
  readonly onPostgresBack: () => void
  readonly onError: (kind: string, error: unknown) => void
}

/** The statements whose lost answers leave somebody in doubt about money or state. */
const COMMITS = /insert_charged|insert_metered|succeed_generation|requeue_generation|claim_generation|WITH ended|COMMIT/
/** After a failure a server asks for no price for so long, and the pages that need one say so. */
const PRICES_UNKNOWN_MS = 10_000
/** How long an armed cut waits for such a statement. */
const ARMED_MS = 3000

/** Injects the scheduled faults, each lane one after the other; `stop` restores everything first. */
export function startFaults(schedule: readonly Scheduled[], victims: Victims, options: FaultOptions) {
  const stopping = new AbortController()
  const { signal } = stopping
  const begun = Date.now()
  const pause = (ms: number) => delay(Math.max(0, ms), undefined, { signal }).catch(() => undefined)

  const follow = async (lane: readonly Scheduled[]) => {
    for (const fault of lane) {
      await pause(begun + fault.atMs - Date.now())
      if (signal.aborted) return
      options.onInjected(fault.kind)
      await inject(fault, victims, options, pause).catch((error) => options.onError(fault.kind, error))
    }
  }
  const lanes = [...new Set(schedule.map(({ lane }) => lane))]
  const done = Promise.all(lanes.map((name) => follow(schedule.filter(({ lane }) => lane === name))))
  return {
    done,
    async stop() {
      stopping.abort()
      await done
    },
  }
}

type Pause = (ms: number) => Promise<void>

async function inject(fault: Fault, victims: Victims, options: FaultOptions, pause: Pause): Promise<void> {
  const { servers, workers, redis, postgres, postgresNet, gpus, images, till, windows } = victims
  const nets = { postgres: postgresNet, redis: redis.net }
  /** Postgres is out of order until it answers again. */
  const withoutPostgres = async (work: () => Promise<void>) => {
    const close = windows.open('postgres')
    try {
      await work()
      await postgres.answers()
      options.onPostgresBack()
    } finally {
      close()
    }
  }
  const between = async (
    what: string,
    begin: () => void | Promise<void>,
    forMs: number,
    end: () => void | Promise<void>,
  ) => {
    const close = windows.open(what)
    await begin()
    await pause(forMs)
    await end()
    close()
  }

  switch (fault.kind) {
    case 'server.kill':
      return servers[fault.target]?.kill()
    case 'worker.kill':
      return workers[fault.target]?.kill()
    case 'server.term':
      return servers[fault.target]?.term()
    case 'worker.term':
      return workers[fault.target]?.term()
    case 'server.stop':
    case 'worker.stop': {
      const victim = (fault.kind === 'server.stop' ? servers : workers)[fault.target]
      victim?.pause()
      await pause(fault.forMs)
      return victim?.resume()
    }
    case 'redis.lose':
      await between('redis', redis.kill, fault.forMs, redis.start)
      options.onRedisBack()
      return redis.settled()
    case 'redis.flush':
      await redis.flush()
      return options.onRedisBack()
    case 'redis.pause':
      await between('redis', redis.pause, fault.forMs, redis.resume)
      return redis.settled()
    case 'postgres.crash':
      return withoutPostgres(async () => {
        await postgres.crash()
        await pause(fault.forMs)
        await postgres.start()
      })
    case 'postgres.failover':
      await postgres.replicate()
      await withoutPostgres(async () => {
        await postgres.lose()
        await pause(fault.forMs)
        await postgres.promote()
      })
      return postgres.replicate()
    case 'postgres.pause':
      return withoutPostgres(async () => {
        await postgres.pause()
        await pause(fault.forMs)
        await postgres.resume()
      })
    case 'postgres.backend_kill':
      return withoutPostgres(async () => {
        await postgres.killBackend(options.chance.next())
        await delay(100)
      })
    case 'postgres.terminate':
      return withoutPostgres(() => postgres.terminate(fault.share))
    case 'net.cut':
      return between(fault.service, nets[fault.service].cut, 0, () => undefined)
    case 'net.cut_reply': {
      const before = postgresNet.swallowed()
      return between(
        'postgres',
        () => postgresNet.cutReplies(COMMITS, fault.times),
        0,
        async () => {
          const until = Date.now() + ARMED_MS
          while (postgresNet.swallowed() < before + fault.times && Date.now() < until) await delay(10)
          postgresNet.cutReplies(COMMITS, 0)
        },
      )
    }
    case 'net.drop_replies': {
      const net = nets[fault.service]
      return between(fault.service, net.dropReplies, fault.forMs, net.flow)
    }
    case 'net.stall': {
      const net = nets[fault.service]
      return between(fault.service, net.stall, fault.forMs, net.flow)
    }
    case 'gpus.refuse': {
      const all = Array.from({ length: WORKERS }, (_, gpu) => gpu)
      for (const gpu of all) gpus.listen(gpu, false)
      await pause(fault.forMs)
      for (const gpu of all) gpus.listen(gpu, true)
      return
    }
    case 'workflow.change':
      // While Postgres is away nothing is imported; the next change is.
      return victims.changeWorkflow().catch(() => undefined)
    case 'store.gone':
      return between('store', images.takeAway, fault.forMs, images.bringBack)
    case 'stripe.away': {
      const close = windows.open('stripe')
      till.stripe.set({ fault: fault.how })
      await pause(fault.forMs)
      till.stripe.set({ fault: 'none' })
      await pause(PRICES_UNKNOWN_MS)
      return close()
    }
    case 'gpu.refuse':
      gpus.listen(fault.target, false)
      await pause(fault.forMs)
      return gpus.listen(fault.target, true)
    default:
      gpus.set(fault.target, fault.kind.slice('gpu.'.length) as Exclude<ComfyuiFault, 'refuse'>)
      await pause(fault.forMs)
      return gpus.set(fault.target, 'none')
  }
}
