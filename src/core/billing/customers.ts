/** Which customer of the payment provider an account is. */
export interface BillingCustomers {
  of(accountId: string): Promise<string | undefined>
  remember(accountId: string, customer: string): Promise<void>
}
