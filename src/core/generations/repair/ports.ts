import type { Log } from '../../log.js'
import type { EndedGeneration, LeftoverPorts } from '../cancel.js'
import type { Delivery } from '../ports.js'
import type { Lacking } from '../servable.js'

export type UnservableGeneration = EndedGeneration & { readonly lacking: Lacking }

/** What the rules read and repair in Postgres. Each statement checks its condition, so two reconcilers do no harm. */
export interface ReconcileStore {
  /** Requeues, in their place, the attempts whose worker stopped renewing its lease. */
  requeueLost(): Promise<Delivery[]>
  /** Fails generations under which one worker too many has died; like every `fail…`, with a refund. */
  failLost(): Promise<EndedGeneration[]>
  /** Fails generations past their deadline. */
  failExpired(): Promise<EndedGeneration[]>
  /** Fails queued generations of kinds that are `unservable`. */
  failUnservable(): Promise<UnservableGeneration[]>
  /** One page of queued generations whose job is not known to have reached the queue. */
  notEnqueued(): Promise<Delivery[]>
  markEnqueued(deliveries: readonly Delivery[]): Promise<void>
  /** Charged active generations, in pages by account. */
  activePage(afterAccountId: string | undefined): Promise<{ id: string; accountId: string; remainingMs: number }[]>
  /** The first queued generations: more than there are backends that may be idle. */
  firstQueued(): Promise<Delivery[]>
  endedAmong(ids: readonly string[]): Promise<string[]>
  /** Slugs of recently failed generations: a crash may have left image files under them. */
  wastedSlugs(): Promise<string[]>
  /** Deletes expired rows. */
  clean(): Promise<void>
}

/** A key in Redis that is lost with all others: if it is missing, Redis was wiped. */
export interface WipeMark {
  present(): Promise<boolean>
  /** Begins a restore. */
  begin(): Promise<void>
  /** Sets the mark, unless Redis was wiped again since `begin`, or cannot be reached. @returns whether it is set */
  finish(): Promise<boolean>
}

export interface ReconcilePorts extends LeftoverPorts {
  readonly rows: ReconcileStore
  readonly periods: {
    /** Grants what plans grant at the start of a period, and lets expire what they let expire at its end. */
    settle(): Promise<unknown>
    /** Tells accounts whose subscription's end has passed. */
    noteEnded(): Promise<unknown>
  }
  readonly wipeMark: WipeMark
  readonly log: Log
}

/** Lets one process at a time be the leader. */
export interface LeaderLease {
  /** Takes or renews it; false while another process has it. */
  hold(): Promise<boolean>
  release(): Promise<void>
}
