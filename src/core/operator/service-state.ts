/** What is measured of the whole service. */
import type { AuditResult } from './audit-result.js'

export interface ServiceState {
  /** What waits, by model file; what stands far behind in a long queue is left out. */
  readonly queue: readonly { readonly model: string; readonly count: number; readonly oldestSeconds: number }[]
  readonly running: number
  readonly backends: readonly { readonly name: string; readonly up: boolean }[]
  readonly webhooks: { readonly count: number; readonly oldestSeconds: number }
  /** When a reconciler was last at work. */
  readonly reconciledAt: Date | undefined
  readonly audit: Omit<AuditResult, 'tookMs'> | undefined
}
