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
