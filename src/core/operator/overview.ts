/** What operators see of the whole service. */
import type { Caller } from '../accounts/account.js'
import type { Generation, GenerationStatus } from '../generations/generation.js'
import type { Pause } from './pauses.js'

export interface WaitingWork extends Pick<Generation, 'lane' | 'filename'> {
  readonly count: number
  readonly oldestAt: Date
  /** The places of the first and the last of them in the queue of both lanes (queue-order.ts). */
  readonly firstPlace: number
  readonly lastPlace: number
}

export interface RunningWork extends Pick<Generation, 'id' | 'lane' | 'filename'> {
  readonly username: string
  readonly worker: string | null
  readonly backend: string | null
  /** When its first attempt began. */
  readonly startedAt: Date
}

export interface BackendState {
  readonly worker: string
  readonly name: string
  /** False also where its worker has been silent for a while. */
  readonly up: boolean
  readonly seenAt: Date
  /** The model files that it has; null: any. */
  readonly models: readonly string[] | null
  /** The model file that is loaded, if that is known. */
  readonly loaded: string | null
  /** By definition that it cannot draw with: what it lacks, a sentence each. */
  readonly lacks: Readonly<Record<string, readonly string[]>> | null
  /** Why it was last down, and since when; null once it has worked since. */
  readonly error: string | null
  readonly errorAt: Date | null
}

export interface FailedWork extends Pick<Generation, 'id' | 'filename'> {
  readonly username: string
  readonly reason: string
  readonly finishedAt: Date
}

export interface Overview {
  /** By Postgres's clock, as all times in here. */
  readonly at: Date
  readonly queue: readonly WaitingWork[]
  /** The first ones to have been submitted. */
  readonly running: readonly RunningWork[]
  readonly runningCount: number
  readonly imagesLastHour: number
  /** With open reports of visitors. */
  readonly reportedImages: number
  /** Without what was canceled. */
  readonly failedLastHour: number
  /** Of the last 24 hours, the most frequent first. */
  readonly failures: readonly { readonly reason: string; readonly count: number }[]
  /** The newest ones that were not canceled. */
  readonly failed: readonly FailedWork[]
  readonly backends: readonly BackendState[]
  readonly pauses: readonly Pause[]
}

/** One generation, as an operator decides on it. */
export interface OverseenGeneration extends Omit<Generation, 'slugs' | 'webhookUrl'> {
  readonly username: string
  readonly status: GenerationStatus
  readonly error: string | null
  readonly attempt: number
  readonly worker: string | null
  readonly backend: string | null
  readonly createdAt: Date
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
}

export interface Oversight {
  /** A snapshot shared by all who look; some seconds old. */
  overview(): Promise<Overview>
  generation(id: string): Promise<OverseenGeneration | undefined>
  /** Who submits with this key; undefined if it was revoked or its account deleted. */
  callerOf(keyId: string): Promise<Caller | undefined>
}

interface Totals {
  readonly waiting: number
  readonly oldestAt: Date | undefined
}

export const totalsOf = ({ queue }: Overview): Totals => ({
  waiting: queue.reduce((sum, { count }) => sum + count, 0),
  oldestAt: queue.map(({ oldestAt }) => oldestAt).sort((a, b) => a.getTime() - b.getTime())[0],
})

/** What an audit of the running service found. */
export interface AuditResult {
  readonly finishedAt: Date
  readonly tookMs: number
  readonly checks: readonly { readonly name: string; readonly violations: number }[]
}

export interface AuditResults {
  /** Undefined until one has ended. */
  last(): Promise<AuditResult | undefined>
}

/** What is measured of the whole service. */
export interface ServiceState {
  /** What waits, by model file; what stands far behind in a long queue is left out. */
  readonly queue: readonly { readonly model: string; readonly count: number; readonly oldestSeconds: number }[]
  readonly running: number
  readonly backends: readonly { readonly name: string; readonly up: boolean }[]
  readonly webhooks: { readonly count: number; readonly oldestSeconds: number }
  /** What was paid and needs an operator. */
  readonly unmatchedPayments: number
  /** Images with open reports of visitors, and how long the oldest report is open. */
  readonly reported: { readonly count: number; readonly oldestSeconds: number }
  /** When a reconciler was last at work. */
  readonly reconciledAt: Date | undefined
  readonly audit: Omit<AuditResult, 'tookMs'> | undefined
}
