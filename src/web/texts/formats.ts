/** How a language writes numbers, amounts of money and days. */

/** Not what ISO 4217 or Intl say: https://docs.stripe.com/currencies#zero-decimal */
const NO_DIGITS = new Set('bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' '))
const THREE_DIGITS = new Set('bhd jod kwd omr tnd'.split(' '))

/** @param language a BCP 47 tag, as in the attribute `lang` */
export function formatsOf(language: string) {
  const numbers = new Intl.NumberFormat(language)
  const inUtc = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(language, { ...options, timeZone: 'UTC' })
  const date = inUtc({ dateStyle: 'medium' })
  const time = inUtc({ dateStyle: 'medium', timeStyle: 'short' })
  const day = inUtc({ day: 'numeric', month: 'short' })
  return {
    language,
    /** With the thousands apart, and a real minus sign. */
    number: (value: number): string => numbers.format(value).replace('-', '−'),
    /** `€19.00`, from an amount in Stripe's smallest unit of the currency. */
    money({ amount, currency }: { readonly amount: number; readonly currency: string }): string {
      const code = currency.toLowerCase()
      const digits = NO_DIGITS.has(code) ? 0 : THREE_DIGITS.has(code) ? 3 : 2
      const format = new Intl.NumberFormat(language, { style: 'currency', currency, maximumFractionDigits: digits })
      return format.format(amount / 10 ** digits)
    },
    /** In UTC. */
    date: (at: Date): string => date.format(at),
    /** In UTC, which it says. */
    time: (at: Date): string => `${time.format(at)} UTC`,
    /** Without the year; of a day like 2026-11-28. */
    day: (name: string): string => (name ? day.format(new Date(`${name}T00:00:00Z`)) : ''),
  }
}

export type Formats = ReturnType<typeof formatsOf>
