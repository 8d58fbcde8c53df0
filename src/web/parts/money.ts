/** Not what ISO 4217 or Intl say: https://docs.stripe.com/currencies#zero-decimal */
const NO_DIGITS = new Set('bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' '))
const THREE_DIGITS = new Set('bhd jod kwd omr tnd'.split(' '))

/** `€19.00`, from an amount in Stripe's smallest unit of the currency. */
export function money({ amount, currency }: { readonly amount: number; readonly currency: string }): string {
  const code = currency.toLowerCase()
  const digits = NO_DIGITS.has(code) ? 0 : THREE_DIGITS.has(code) ? 3 : 2
  const format = new Intl.NumberFormat('en', { style: 'currency', currency, maximumFractionDigits: digits })
  return format.format(amount / 10 ** digits)
}
