/** Flows that die where they are told to. */
import { reconcile } from '../../../src/core/generations/repair/reconcile.js'
import { until } from '../../support/until.js'
import type { Flow, Scene } from './crash-flows.js'
import type { Ports, Stage } from './crash-stage.js'
import { type Death, type Mortal, mortal } from './mortal.js'

export interface Crash {
  readonly scenes: readonly Scene[]
  readonly process: Mortal<Ports>
  /** Settles only if the process was not killed, or has woken up. */
  readonly end: Promise<unknown>
}

/** All effects of a flow when nothing goes wrong. */
export async function rehearse(stage: Stage, flow: Flow): Promise<readonly string[]> {
  return until(async () => {
    const { process, end } = await start(stage, flow)
    await end
    return process.effects.includes(flow.reaches) && process.effects
  }, flow.reaches)
}

/** Both ways at every effect. What a clock repeats is left out but for its first time. */
export const deathsIn = (effects: readonly string[]): Death[] =>
  effects
    .filter((effect) => !/^(progress\.set#(?!1$)|runs\.heartbeat#)/.test(effect))
    .flatMap((effect) => (['before', 'after'] as const).map((way) => ({ effect, way })))

/** Runs a flow until it ends or dies. */
export async function start(stage: Stage, flow: Flow, death?: Death): Promise<Crash> {
  const scene = await flow.given(stage)
  const process = mortal({ ...stage.ports, ...flow.world?.(stage, scene) }, death)
  return endOrDie({ process, end: flow.run(process.ports, scene), scenes: [scene] })
}

/** Runs a flow until it dies. On a busy machine Redis may answer late and the flow go another way: once more, then. */
export const startAndDie = (stage: Stage, flow: Flow, death: Death): Promise<Crash> =>
  until(async () => {
    const crash = await start(stage, flow, death)
    return crash.process.isDead && crash
  }, `a death ${death.way} ${death.effect}`)

/** A pass of the reconciler for which Redis is empty, until it ends or dies. */
export function startPass(stage: Stage, death?: Death): Promise<Crash> {
  const wipeMark = { ...stage.ports.wipeMark, present: async () => false }
  const process = mortal({ ...stage.ports, wipeMark }, death)
  return endOrDie({ process, end: reconcile(process.ports, { full: true, trustLeases: true }), scenes: [] })
}

async function endOrDie(crash: Crash): Promise<Crash> {
  // It may end while something that it does not wait for is still under way.
  await Promise.race([crash.process.died, crash.end.catch(() => undefined).then(() => crash.process.settled())])
  return crash
}

const AT_ONCE = 8

/** Like Promise.all over `items.map(work)`, a few at a time. */
export async function inTurns<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  const rest = items.entries()
  const takeTurns = async () => {
    for (const [i, item] of rest) results[i] = await work(item)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, takeTurns))
  return results
}
