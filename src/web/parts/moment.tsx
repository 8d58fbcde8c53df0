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
