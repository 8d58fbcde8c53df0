/** What stands on many pages: the header, errors, forms. */
export const parts = {
  /** Of the language, in its own words. */
  languageName: 'English',
  skip: 'Skip to content',
  navigation: 'Site',
  links: {
    create: 'Create',
    gallery: 'Gallery',
    keys: 'Keys',
    webhooks: 'Webhooks',
    usage: 'Usage',
    account: 'Account',
    reference: 'API reference',
    operator: 'Operator',
  },
  signOut: 'Sign out',
  signIn: 'Sign in',
  /** Beside the number. */
  credits: (count: number): string => (count === 1 ? 'credit' : 'credits'),
  footer: {
    label: 'About this site',
    terms: 'Terms',
    privacy: 'Privacy',
    imprint: 'Imprint',
    contact: 'Contact',
    status: 'Status',
  },
  getPlan: 'Get a plan',
  errors: {
    headings: {
      not_found: 'Nothing here',
      method_not_allowed: 'Method not allowed',
      forbidden: 'Not allowed',
      invalid_request: 'That did not work',
      rate_limited: 'Too fast',
      unavailable: 'Back in a moment',
    },
    other: 'Something went wrong',
    internal: 'The fault is ours. Try again; if it stays, tell the operator the request below.',
    request: 'Request',
    home: 'To the front page',
  },
  pages: { label: 'Pages', first: 'First page', next: 'Next page' },
  shortcuts: {
    title: 'Keyboard shortcuts',
    these: 'These keys',
    letters: 'Letters are shortcuts',
    close: 'Close',
  },
  favourite: 'Favourite',
  copy: 'Copy',
  span: {
    from: 'From',
    to: 'To',
    show: 'Show',
    label: 'Time',
    days: (days: number): string => `${days} days`,
  },
  chart: {
    by: (title: string, per: 'day' | 'week'): string => `${title}, by ${per}`,
    facts: (first: string, last: string, total: string): string => `From ${first} to ${last}: ${total}`,
    most: (per: 'day' | 'week', name: string, value: string): string =>
      `, most ${per === 'week' ? 'from' : 'on'} ${name}: ${value}`,
    range: (first: string, last: string): string => `${first} to ${last}`,
    table: 'As a table',
    per: { day: 'Day (UTC)', week: 'Week (UTC)' },
  },
  statuses: { active: 'active', expired: 'expired', paused: 'paused', past_due: 'past due', canceled: 'canceled' },
  browser: {
    unknown: 'Unknown browser',
    on: (browser: string, system: string): string => `${browser} on ${system}`,
  },
  /** For the scripts of every page. */
  script: {
    copied: 'Copied',
    unreachable: 'The server could not be reached. Check your connection, then try again.',
  },
}
