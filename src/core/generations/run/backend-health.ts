import { NEVER_ABORTED, timeLimit } from '../../../lib/abort-signals.js'
import { messageOf } from '../../../lib/causes.js'
import { untilSharedMoment } from '../../../lib/shared-moments.js'
import type { Log } from '../../log.js'
import { CAPABILITIES_WITHIN_MS, type Capabilities, type InferenceBackend, isBackendRefusal } from './backend.js'
import type { FaultAttribution } from './fault-attribution.js'
import type { BackendRegistry, ServedCapabilities } from './ports.js'
import { StoreFault } from './publish.js'
import type { StoreWatch } from './store-watch.js'
import type { RunTimes } from './times.js'

const LATE = new Error(`the backend did not say within ${CAPABILITIES_WITHIN_MS} ms what it serves`)

const UNKNOWN: ServedCapabilities = { models: null, samplers: [], maxSeed: 0, sizeMultiple: 1 }
/** A server that has refused from the start counts as one without models, so that nothing waits for it. */
const NOTHING: ServedCapabilities = { ...UNKNOWN, models: [] }

interface HealthPorts {
  readonly backends: BackendRegistry
  readonly store: Pick<StoreWatch, 'check'>
  readonly attribution: Pick<FaultAttribution, 'isFailing' | 'withoutMissing'>
  readonly log: Pick<Log, 'info' | 'warn'>
  /** Whether it claims or draws now. */
  readonly isServing: () => boolean
  /** Called after each check that found it up. */
  readonly onUp: () => void
}

export type BackendHealth = ReturnType<typeof backendHealth>

/**
 * What is known of one backend: whether it is up, what it serves, which model it holds. Checks and announces that again
 * and again, and probes it while it is down. Down is also a backend whose images can't be stored.
 * @param worker names the process to the operator
 */
export function backendHealth(
  { backends, store, attribution, log, isServing, onUp }: HealthPorts,
  backend: Pick<InferenceBackend, 'name' | 'capabilities'>,
  worker: string,
  times: Pick<RunTimes, 'checkMs' | 'probeMs' | 'probeCapMs'>,
) {
  let isUp = false
  let serves = UNKNOWN
  /** The model of the last inference, which the server therefore has loaded. */
  let loaded: string | undefined
  /** Why it was last down; undefined once it has worked since. */
  let lastError: string | undefined
  /** What it lacked for definitions when it was last asked. */
  let lacks: Capabilities['lacks']
  /** How often it went down since a generation has finished. */
  let outages = 0
  /** What it lacks, by definition, as the log has said. */
  const lacking = new Map<string, string>()
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  let checking: Promise<void> | undefined

  const checkIn = (ms: number): void => {
    if (isStopped) return
    clearTimeout(timer)
    timer = setTimeout(() => {
      checking = check()
    }, ms)
  }

  const wentDown = (err: unknown): void => {
    const sentence =
      err instanceof StoreFault
        ? 'backend is paused until images can be stored again: the error says why'
        : 'backend is down'
    if (isUp || outages === 0) log.warn({ err, backend: backend.name }, sentence)
    lastError = messageOf(err)
    isUp = false
    loaded = undefined
    // The pauses grow until a generation finishes: a server that answers the probe may still fail its work.
    checkIn(Math.min(times.probeMs * 2 ** outages++, times.probeCapMs))
  }

  /** Once for each definition, and again when it lacks something else. */
  const tellLacks = (): void => {
    for (const [model, sentences] of lacks ?? []) {
      const said = sentences.join(' ')
      if (lacking.get(model) !== said)
        log.warn({ backend: backend.name, model }, `backend cannot draw with ${model}. ${said}`)
      lacking.set(model, said)
    }
    for (const model of lacking.keys()) if (!lacks?.has(model)) lacking.delete(model)
  }

  const check = async (): Promise<void> => {
    const wasUp = isUp
    const limit = timeLimit(NEVER_ABORTED, CAPABILITIES_WITHIN_MS)
    let refuses = false
    try {
      const capabilities = await backend.capabilities(limit.signal)
      limit.clear()
      await store.check()
      const { lacks: itsLacks, ...listed } = capabilities
      serves = attribution.withoutMissing(listed)
      lacks = itsLacks
      tellLacks()
      isUp = true
      const models = capabilities.models?.length ?? 'any'
      if (!wasUp) log.info({ backend: backend.name, models }, 'backend is up')
    } catch (error) {
      // A server that loads a checkpoint may not answer. While it draws, its inference shows whether it is up.
      if (!isServing() || !isUp) wentDown(limit.isOver() ? LATE : error)
      refuses = isBackendRefusal(error) && serves === UNKNOWN
    } finally {
      limit.clear()
    }
    const condition = { loaded, error: lastError, failing: attribution.isFailing(), lacks }
    await backends
      .announce(worker, backend.name, isUp, refuses ? NOTHING : serves, condition)
      .catch((err) => log.warn({ err, backend: backend.name }, 'backend could not be announced'))
    if (!isUp) return
    onUp()
    // With all other backends of this process: one statement announces them.
    checkIn(untilSharedMoment(times.checkMs))
  }

  return {
    isUp: () => isUp,
    serves: () => serves,
    loaded: () => loaded,
    /** Whether the server must load this model before it can draw with it. */
    loads: (filename: string): boolean => serves.models !== null && loaded !== filename,
    /** Asks the backend what it serves, reports it, and schedules the next check. */
    check,
    wentDown,
    /** An inference begins: the server loads this model if it holds another one. */
    drawsWith(filename: string): void {
      loaded = serves.models === null ? undefined : filename
    },
    /** A generation has finished there, drawn or not: the next outage is a new one. */
    hasFinished(): void {
      outages = 0
      // A generation may also end because its images cannot be stored, which is why the backend is down.
      if (isUp) lastError = undefined
    },
    /** A model that it lists is missing: announced immediately, so that generations of it do not wait for this backend. */
    modelIsMissing(): void {
      serves = attribution.withoutMissing(serves)
      checkIn(0)
    },
    announceSoon(): void {
      if (isUp) checkIn(0)
    },
    /** No more checks; resolves when the one that is under way has ended. */
    async stop(): Promise<void> {
      isStopped = true
      clearTimeout(timer)
      await checking
    },
  }
}
