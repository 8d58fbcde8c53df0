/** Which customer of the payment provider an account is. */
export interface BillingCustomers {
  /** The one that pays comes first. Some may be unknown to the provider: of a sandbox, or of another account there. */
  all(accountId: string): Promise<readonly string[]>
  remember(accountId: string, customer: string): Promise<void>
}
