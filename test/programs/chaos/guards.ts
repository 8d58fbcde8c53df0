/**
 * Whether the checks can see: one guard at a time is taken away, something happens that it is there for, and the run
 * must go red; with all guards in place the same things must leave it green.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type ChaosOptions, type ChaosReport, chaos } from './chaos.js'
import type { Guard, Scene } from './guard.js'
import { CODE_GUARDS } from './guard-code.js'
import { SQL_GUARDS, TWINS } from './guard-sql.js'
import type { Violation } from './history.js'

export const GUARDS: readonly Guard[] = [...SQL_GUARDS, ...CODE_GUARDS]

type Base = Pick<ChaosOptions, 'seed' | 'say' | 'signal'>

/** Enough for some generations to end before the attacks, and for their consequences. */
const RUN_MS = 6000
const ATTACK_AFTER_MS = 2000
/** Where the probes have said it all. */
const PROBED_RUN_MS = 500
/** A submit that died holds its lock for 15 s. */
const BLOCKED_MS = 16_500

/** What a run without this guard finds. */
export function withoutGuard(guard: Guard, base: Base): Promise<Violation[]> {
  const { drop, off, failpoints, probe, run, blockedMs } = guard
  const env = { ...run?.env, ...(off && { GUARDS_OFF: off.join(',') }) }
  const options = { forMs: probe ? PROBED_RUN_MS : RUN_MS, ...failing(failpoints), ...run, ...base, env }
  return guardRun(options, { attacked: [guard], probes: probe ? [probe] : [], drop, blockedMs })
}

/**
 * What two runs find in which every guard stands: one with all attacks, and all probes but those that need failpoints
 * of their own; one with all deaths.
 */
export async function withAllGuards(base: Base): Promise<Violation[]> {
  const probes = new Set(GUARDS.flatMap(({ probe, failpoints }) => (probe && !failpoints ? probe : [])))
  const deaths = new Set(GUARDS.flatMap(({ probe, failpoints }) => (failpoints && !probe ? failpoints : [])))
  const dying = { ...failing([...deaths].join(',')), mayExpire: false, ...base }
  return [
    ...(await guardRun({ ...TWINS, ...base }, { attacked: GUARDS, probes, blockedMs: BLOCKED_MS })),
    ...(await guardRun(dying, { blockedMs: BLOCKED_MS })),
  ]
}

const failing = (failpoints: string | undefined): Partial<ChaosOptions> =>
  failpoints === undefined ? {} : { rate: 1, lanes: [], failpoints: true, drawFailpoints: () => failpoints }

interface Tried {
  readonly attacked?: readonly Guard[]
  readonly probes?: Iterable<NonNullable<Guard['probe']>>
  readonly drop?: string | undefined
  readonly blockedMs?: number | undefined
}

/** The probes, then load with the attacks amid it, then every check there is. */
async function guardRun(options: Partial<ChaosOptions> & Base, tried: Tried): Promise<Violation[]> {
  const { attacked = [], probes = [], drop, blockedMs = Number.POSITIVE_INFINITY } = tried
  const found: Violation[] = []
  const { violations, heals } = await chaos({
    ...{ forMs: RUN_MS, users: 24, rate: 0, failpoints: false },
    ...options,
    // Each run's own, or its listeners would gather.
    signal: AbortSignal.any([options.signal]),
    sabotage: async (stage) => {
      const client = await stage.connect()
      if (drop !== undefined) await client.query(drop)
      for (const probe of probes) found.push(...(await probe({ stage, client })))
      // Not awaited: it happens amid the load.
      void attacks(attacked, { stage, client }, options.say)
        .then(() => client.end())
        .catch(() => undefined)
    },
  })
  return [...found, ...blockedBeyond(blockedMs, heals), ...violations]
}

/** Whether a user was locked out for longer than this, by a lock that nobody had a right to. */
export function blockedBeyond(ms: number, { blocked }: ChaosReport['heals']): Violation[] {
  if (blocked.max <= ms) return []
  const seconds = (blocked.max / 1000).toFixed(1)
  return [{ invariant: 'blocked', what: `a user was refused as busy for ${seconds} s with nothing active` }]
}

async function attacks(guards: readonly Guard[], scene: Scene, say: (line: string) => void): Promise<void> {
  await delay(ATTACK_AFTER_MS)
  for (const { name, attack } of guards) {
    const how = await attack?.(scene).then(
      () => 'went through',
      (error) => `was refused: ${error.message}`,
    )
    if (how) say(`the attack on "${name}" ${how}`)
  }
}
