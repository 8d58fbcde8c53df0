/** With the thousands apart. */
export const number = (value: number): string => value.toLocaleString('en')

/** `1 credit`, `1,200 credits`. */
export const counted = (count: number, noun: string): string => `${number(count)} ${noun}${count === 1 ? '' : 's'}`

/** A page's address with these parameters; without those that are empty. */
export function address(path: string, params: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(params).flatMap(([name, value]) => (value ? [[name, String(value)]] : []))
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`
}

const IN_UTC = {
  date: new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' }),
  time: new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' }),
}

/** A moment in UTC, which easel.js shows in the reader's time zone. */
export const Moment = ({ at, only }: { at: Date; only?: 'date' }) => (
  <time datetime={at.toISOString()} data-local={only ?? 'time'}>
    {only ? IN_UTC.date.format(at) : `${IN_UTC.time.format(at)} UTC`}
  </time>
)
