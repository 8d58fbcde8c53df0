/** What goes wrong and when: drawn whole from the seed before a run begins, so that a seed replays its faults. */
import { type Seeded, seeded } from '../../support/seeded.js'

export const SERVERS = 2
/** The GPU host of each worker. Some probes of guards leave only the first one. */
export const HOSTS = [
  { kind: 'a1111' },
  { kind: 'comfyui', version: '0.3.64' },
  { kind: 'comfyui', version: 'new' },
] as const
export const WORKERS = HOSTS.length

type Service = 'postgres' | 'redis'

/** Times in milliseconds. */
export type Fault =
  | { readonly kind: 'server.kill' | 'server.term'; readonly target: number }
  | { readonly kind: 'worker.kill' | 'worker.term'; readonly target: number }
  | { readonly kind: 'server.stop' | 'worker.stop'; readonly target: number; readonly forMs: number }
  | { readonly kind: 'redis.lose' | 'redis.pause' | 'postgres.crash' | 'postgres.pause'; readonly forMs: number }
  | { readonly kind: 'postgres.failover'; readonly forMs: number }
  | { readonly kind: 'redis.flush' | 'postgres.backend_kill' }
  | { readonly kind: 'postgres.terminate'; readonly share: number }
  | { readonly kind: 'net.cut'; readonly service: Service }
  | { readonly kind: 'net.cut_reply'; readonly times: number }
  | { readonly kind: 'net.drop_replies' | 'net.stall'; readonly service: Service; readonly forMs: number }
  | { readonly kind: `gpu.${ComfyuiFault}`; readonly target: number; readonly forMs: number }
  | { readonly kind: 'gpus.refuse'; readonly forMs: number }
  | { readonly kind: 'store.gone'; readonly forMs: number }
  | { readonly kind: 'stripe.away'; readonly how: 'hang' | 'drop' | 'garbage'; readonly forMs: number }
  /** The operator imports a changed workflow. */
  | { readonly kind: 'workflow.change' }

const ANY_GPU = ['hang', 'error', 'garbage', 'refuse', 'drop', 'drop_mid_reply', 'wrong_size', 'busy'] as const
const COMFYUI = ['late', 'late_answer', 'exception', 'out_of_memory', 'missing_file', 'restart', 'no_events'] as const
export type AnyGpuFault = (typeof ANY_GPU)[number]
export type ComfyuiFault = AnyGpuFault | (typeof COMFYUI)[number]
const FAULTS = { a1111: ANY_GPU, comfyui: [...ANY_GPU, ...COMFYUI] }

export type FaultKind = Fault['kind']
export type Scheduled = Fault & { readonly atMs: number; readonly lane: string }

/** How the faults of one lane follow each other: one at a time, pauses of `everyMs` on average between them. */
interface Lane {
  readonly everyMs: number
  readonly draw: (chance: Seeded) => Fault
}

const LANES: Readonly<Record<string, Lane>> = {
  server: {
    everyMs: 5000,
    draw: (chance) => {
      const target = chance.below(SERVERS)
      const r = chance.next()
      if (r < 0.6) return { kind: 'server.kill', target }
      if (r < 0.8) return { kind: 'server.term', target }
      return { kind: 'server.stop', target, forMs: chance.between(500, 8000) }
    },
  },
  worker: {
    everyMs: 2500,
    draw: (chance) => {
      const target = chance.below(WORKERS)
      const r = chance.next()
      if (r < 0.65) return { kind: 'worker.kill', target }
      if (r < 0.8) return { kind: 'worker.term', target }
      // Some longer than the lease: another worker takes over, and this one wakes up with an image in its hands.
      return { kind: 'worker.stop', target, forMs: chance.between(500, 16_000) }
    },
  },
  redis: {
    everyMs: 5000,
    draw: (chance) => {
      const r = chance.next()
      if (r < 0.5) return { kind: 'redis.lose', forMs: chance.between(0, 2500) }
      if (r < 0.75) return { kind: 'redis.flush' }
      return { kind: 'redis.pause', forMs: chance.between(300, 5000) }
    },
  },
  postgres: {
    everyMs: 7000,
    draw: (chance) => {
      const r = chance.next()
      if (r < 0.1) return { kind: 'postgres.failover', forMs: chance.between(0, 1500) }
      if (r < 0.35) return { kind: 'postgres.crash', forMs: chance.between(0, 1500) }
      if (r < 0.6) return { kind: 'postgres.backend_kill' }
      if (r < 0.85) return { kind: 'postgres.terminate', share: chance.between(0.1, 1) }
      return { kind: 'postgres.pause', forMs: chance.between(300, 4000) }
    },
  },
  net: {
    everyMs: 5000,
    draw: (chance) => {
      const service = chance.pick(['postgres', 'redis'] as const)
      const r = chance.next()
      if (r < 0.5) return { kind: 'net.cut_reply', times: 1 + chance.below(4) }
      if (r < 0.7) return { kind: 'net.cut', service }
      if (r < 0.85) return { kind: 'net.drop_replies', service, forMs: chance.between(50, 1500) }
      return { kind: 'net.stall', service, forMs: chance.between(100, 3000) }
    },
  },
  gpu: {
    everyMs: 5000,
    draw: (chance) => {
      if (chance.chance(0.12)) return { kind: 'gpus.refuse', forMs: chance.between(500, 9000) }
      const target = chance.below(WORKERS)
      const fault = chance.pick<ComfyuiFault>(FAULTS[HOSTS[target]?.kind ?? 'a1111'])
      return { kind: `gpu.${fault}`, target, forMs: chance.between(200, 3000) }
    },
  },
  operator: { everyMs: 10_000, draw: () => ({ kind: 'workflow.change' }) },
  stripe: {
    everyMs: 15_000,
    draw: (chance) => ({
      kind: 'stripe.away',
      how: chance.pick(['hang', 'drop', 'garbage'] as const),
      forMs: chance.between(200, 4000),
    }),
  },
  store: { everyMs: 25_000, draw: (chance) => ({ kind: 'store.gone', forMs: chance.between(200, 7000) }) },
}

/**
 * @param rate how many times as dense as usual
 * @param lanes which lanes take part; all unless given
 */
export function scheduleOf(seed: number, lengthMs: number, rate = 1, lanes?: readonly string[]): Scheduled[] {
  const all: Scheduled[] = []
  for (const [lane, { everyMs, draw }] of Object.entries(LANES)) {
    if (lanes && !lanes.includes(lane)) continue
    const chance = seeded(seed).fork(lane)
    for (let atMs = chance.gap(everyMs / rate); atMs < lengthMs; atMs += chance.gap(everyMs / rate)) {
      const fault = draw(chance)
      all.push({ ...fault, atMs, lane })
      if ('forMs' in fault) atMs += fault.forMs
    }
  }
  return all.sort((a, b) => a.atMs - b.atMs)
}
