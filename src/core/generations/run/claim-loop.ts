import type { Log } from '../../log.js'
import type { InferencePace } from '../inference-pace.js'
import type { Attempts } from './attempts.js'
import type { BackendHealth } from './backend-health.js'
import type { FaultAttribution } from './fault-attribution.js'
import type { GpuSlot } from './gpu-slot.js'
import type { Claimant, ClaimedGeneration, RunStore } from './ports.js'

interface ClaimPorts {
  readonly runs: Pick<RunStore, 'claim'>
  readonly health: Pick<BackendHealth, 'isUp' | 'serves' | 'loaded'>
  readonly attribution: Pick<FaultAttribution, 'isFailing' | 'yields' | 'without' | 'dropped' | 'forgiveDropped'>
  readonly attempts: Pick<Attempts, 'begin' | 'roomForAnother'>
  readonly pace: Pick<InferencePace, 'msPerPixelStep'>
  readonly log: Pick<Log, 'warn'>
}

/**
 * Claims for one backend and begins what it claims, until nothing is claimable. The next generation is claimed before
 * the GPU is free, and the images of the last one are stored while the next is drawn.
 * @param affinityMaxDelayMs see `Affinity`
 */
export function claimLoop(
  { runs, health, attribution, attempts, pace, log }: ClaimPorts,
  claimant: Pick<Claimant, 'worker' | 'backend'>,
  affinityMaxDelayMs: number,
) {
  /** The `serveAll` under way. */
  let serving: Promise<boolean> | undefined
  /** There may be work that the last claim did not see. */
  let mayHaveMissed = false
  let isDraining = false

  /** Resolves to whether anything was claimed. */
  const serveAll = async (): Promise<boolean> => {
    let slot: GpuSlot | undefined
    let generation = await claim()
    const ran = generation !== undefined
    while (generation) {
      slot = attempts.begin(generation, slot?.done ?? Promise.resolve(), slot?.isDone() === false)
      await slot.almostDone
      await attempts.roomForAnother()
      generation = await claim()
      if (generation) continue
      // The GPU is free now: claim once more before going idle.
      await slot.done
      generation = await claim()
    }
    return ran
  }

  const claim = async (): Promise<ClaimedGeneration | undefined> => {
    try {
      do {
        if (!health.isUp() || isDraining) return undefined
        mayHaveMissed = false
        const claimed = await claimFirst()
        if (claimed) return claimed
      } while (mayHaveMissed)
    } catch (err) {
      // Postgres is down; the next job or poll retries.
      log.warn({ err, backend: claimant.backend }, 'claim failed')
    }
    return undefined
  }

  /** The first in queue order that this backend can serve, or the first of the model that it has loaded. */
  const claimFirst = async (): Promise<ClaimedGeneration | undefined> => {
    const filename = health.loaded()
    const affinity =
      filename === undefined || affinityMaxDelayMs === 0
        ? undefined
        : { filename, maxDelayMs: affinityMaxDelayMs, msPerPixelStep: pace.msPerPixelStep() }
    const by = { ...claimant, failing: attribution.isFailing(), yields: attribution.yields() }
    const serves = attribution.without(health.serves())
    const except = attribution.dropped()
    const claimed = await runs.claim({ ...by, except }, serves, affinity)
    if (claimed || except.length === 0) return claimed
    // Only what was dropped waits: it may be claimed again.
    attribution.forgiveDropped()
    return runs.claim(by, serves, affinity)
  }

  return {
    isServing: () => serving !== undefined,
    /** Runs all that is claimable; resolves to whether anything was. False if it is serving, down or draining. */
    serve(): Promise<boolean> {
      mayHaveMissed = true
      if (!health.isUp() || serving || isDraining) return Promise.resolve(false)
      serving = serveAll().finally(() => {
        serving = undefined
      })
      return serving
    },
    /** No more claims; resolves when the last inference has ended. */
    async drain(): Promise<void> {
      isDraining = true
      await serving
    },
  }
}
