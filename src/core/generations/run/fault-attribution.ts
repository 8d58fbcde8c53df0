import { isDefinition } from '../../catalog/model-definition.js'
import type { Generation } from '../generation.js'
import type { ServedCapabilities } from './ports.js'
import { RUN_TIMES, type RunTimes } from './times.js'

/** If this many accounts fail in a row, what they share is at fault. One account alone could fail on purpose. */
const FAILED_ACCOUNTS = 3
/** If this many accounts' generations find a model's file missing or broken, it is not the fault of one of them. */
const ACCOUNTS_WITHOUT_MODEL = 2
/** After so many shared faults (some minutes) a generation's faults count as tries again. */
const MAX_SHARED_FAULTS = 20
/** A bound, because generations that another worker finishes are never forgotten. */
const MAX_REMEMBERED = 100
const LEFT_OUT_CAP_MS = 30_000
/** For how long a missing model is left out: longer than a generation waits for a backend that has it. */
const MISSING_FOR_MS = 300_000

type Job = Pick<Generation, 'id' | 'accountId' | 'filename' | 'sampler'>

export interface SharedFault {
  /** How many shared faults this generation has had before. */
  readonly times: number
  /** The server fails everything. Otherwise one model or sampler fails, and is left out for a while. */
  readonly down: boolean
}

const SERVER = 'server'
const modelKey = (filename: string) => `model ${filename}`
const samplerKey = (sampler: string) => `sampler ${sampler}`

/** Failures in a row: of one model, of one sampler, or of the whole server, which last worked at this time. */
const newStreak = (workedAt: number) => ({
  workedAt,
  accounts: new Set<string>(),
  models: new Set<string>(),
  samplers: new Set<string>(),
  pauses: 0,
  leftOutUntil: 0,
})
type Streak = ReturnType<typeof newStreak>

export type FaultAttribution = ReturnType<typeof faultAttribution>

/** Remembers one backend's failures, to tell a broken server, model or sampler from a broken generation. */
export function faultAttribution({ leftOutMs, lacksMs }: Pick<RunTimes, 'leftOutMs' | 'lacksMs'> = RUN_TIMES) {
  /** By generation: how many others the server has finished since it dropped or refused this one. */
  const drops = new Map<string, number>()
  /** What was dropped lately: others go first. */
  let dropped: readonly string[] = []
  const sharedFaults = new Map<string, number>()
  const streaks = new Map<string, Streak>()
  /** By model: the accounts and the generations that found its file missing or broken since it last worked. */
  const modelFaults = new Map<string, { readonly accounts: Set<string>; readonly ids: Set<string> }>()
  /** Definitions that the server was found to lack something for, since they last worked. */
  const lacking = new Set<string>()
  /** Models that the server lists but does not have, and until when it is not asked for them. */
  const missing = new Map<string, number>()
  /** Inferences that failed since one has succeeded, whatever the reason, and until when others go first. */
  let failures = 0
  let yieldsUntil = 0

  const failed = (key: string, { accountId, filename, sampler }: Job): Streak => {
    const streak = streaks.get(key) ?? newStreak(Number.NEGATIVE_INFINITY)
    streaks.set(key, streak)
    streak.accounts.add(accountId)
    streak.models.add(filename)
    streak.samplers.add(sampler)
    return streak
  }

  return {
    /** The connection broke, or the server refused, when the generation was to be drawn. */
    noteDrop(id: string): void {
      drops.delete(id)
      remember(drops, id, 0)
      dropped = [...dropped.slice(-MAX_REMEMBERED), id]
    },
    /** The generations that the server has dropped or refused since nothing else waited. */
    dropped: () => dropped,
    forgiveDropped(): void {
      dropped = []
    },
    /** An inference failed. */
    noteFailure(): void {
      yieldsUntil = performance.now() + Math.min(leftOutMs * 2 ** failures++, LEFT_OUT_CAP_MS)
    },
    isFailing: () => failures > 0,
    /** Whether other backends should draw for now: one that fails at once is always free, and would take everything. */
    yields: () => performance.now() < yieldsUntil,
    /**
     * The server does not have the model's file, or cannot load it. `leaveOut`: several accounts have found that.
     * `again`: this generation had found it before.
     */
    noteModelFault({ id, accountId, filename }: Job): { readonly leaveOut: boolean; readonly again: boolean } {
      if (isDefinition(filename)) {
        // A node or a file has gone: nothing that a subscriber writes can bring that about.
        const isFirst = !lacking.has(filename)
        lacking.add(filename)
        missing.set(filename, performance.now() + (isFirst ? lacksMs : MISSING_FOR_MS))
        return { leaveOut: true, again: false }
      }
      const { accounts, ids } = modelFaults.get(filename) ?? { accounts: new Set<string>(), ids: new Set<string>() }
      const again = ids.has(id)
      accounts.add(accountId)
      ids.add(id)
      const leaveOut = accounts.size >= ACCOUNTS_WITHOUT_MODEL
      if (leaveOut) {
        modelFaults.delete(filename)
        missing.set(filename, performance.now() + MISSING_FOR_MS)
      } else modelFaults.set(filename, { accounts, ids })
      return { leaveOut, again }
    },
    /** What the backend lists, without the models that it does not have. */
    withoutMissing(listed: ServedCapabilities): ServedCapabilities {
      for (const [filename, until] of missing) if (performance.now() > until) missing.delete(filename)
      return { ...listed, models: listed.models?.filter((filename) => !missing.has(filename)) ?? null }
    },
    /** The generation has ended, or was put back for another reason. */
    noteEnd({ id, filename, sampler }: Job, succeeded: boolean): void {
      drops.delete(id)
      if (!succeeded) return
      failures = yieldsUntil = 0
      modelFaults.delete(filename)
      lacking.delete(filename)
      const now = performance.now()
      for (const key of [SERVER, modelKey(filename), samplerKey(sampler)]) streaks.set(key, newStreak(now))
      for (const [other, finished] of drops) drops.set(other, finished + 1)
    },
    /** Whether the server has finished others since it last dropped or refused this generation, which is then at fault. */
    isCulprit: (id: string): boolean => (drops.get(id) ?? 0) > 0,
    /** The generation's inference failed. Undefined: the fault is the generation's own, and counts as a try. */
    sharedFault(job: Job): SharedFault | undefined {
      const server = failed(SERVER, job)
      const model = failed(modelKey(job.filename), job)
      const sampler = failed(samplerKey(job.sampler), job)
      const down = isSuspect(server) && server.models.size > 1 && server.samplers.size > 1
      // If both are suspect, blame the one that has not worked for longer.
      const suspects = [model, sampler].filter(isSuspect).sort((one, other) => one.workedAt - other.workedAt)
      const blamed = down ? server : suspects[0]
      const times = sharedFaults.get(job.id) ?? 0
      if (!blamed || times >= MAX_SHARED_FAULTS) return undefined
      remember(sharedFaults, job.id, times + 1)
      if (!down) blamed.leftOutUntil = performance.now() + Math.min(leftOutMs * 2 ** blamed.pauses++, LEFT_OUT_CAP_MS)
      return { times, down }
    },
    /** The backend's abilities without what is left out now. */
    without(serves: ServedCapabilities): ServedCapabilities {
      const isOffered = (key: string) => (streaks.get(key)?.leftOutUntil ?? 0) <= performance.now()
      return {
        ...serves,
        models: serves.models?.filter((filename) => isOffered(modelKey(filename))) ?? null,
        samplers: serves.samplers.filter((sampler) => isOffered(samplerKey(sampler))),
      }
    },
  }
}

const isSuspect = ({ accounts }: Streak): boolean => accounts.size >= FAILED_ACCOUNTS

/** Forgets the oldest beyond the limit. */
function remember(counts: Map<string, number>, id: string, count: number): void {
  counts.set(id, count)
  const [oldest] = counts.keys()
  if (oldest !== undefined && counts.size > MAX_REMEMBERED) counts.delete(oldest)
}
