/** Credits that are bought once. They never expire. */
export interface CreditPack {
  readonly name: string
  readonly credits: number
  /** Of the payment provider. */
  readonly price: string
  /** Since then nobody can buy it. Null: it is for sale. */
  readonly retiredAt: Date | null
}
