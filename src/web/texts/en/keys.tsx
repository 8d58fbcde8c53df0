import type { ComponentChildren } from 'preact'
import { formats, words } from './words.js'

export const keys = {
  title: 'Keys',
  heading: 'Personal Access API',
  lead: (reference: (text: string) => ComponentChildren, webhooks: (text: string) => ComponentChildren) => (
    <>
      A key lets your own programs generate images with your account and its credits.{' '}
      {reference('Read the API reference')}, or have events sent to you by {webhooks('webhooks')}.
    </>
  ),
  yours: 'Your keys',
  none: 'No keys yet.',
  createFirst: 'Create the first one above.',
  created: {
    title: 'Copy your key now',
    once: 'It is shown this once: only its fingerprint is stored. Keep it secret, like a password.',
    label: 'Your new key',
    try: 'Try it. This request only reads your account and costs nothing:',
    tryAsOperator: 'Try it. This request only reads what waits and runs:',
    copyRequest: 'Copy the request',
  },
  create: {
    name: 'Key name',
    example: 'laptop scripts',
    submit: 'Create key',
    hint: (length: number, held: number, most: number): string =>
      `What it is for, in up to ${length} characters. You have ${held} of ${most} keys.`,
  },
  noSubscription: {
    title: 'Keys need an active subscription',
    plan: (plan: ComponentChildren, status: string, since: ComponentChildren) => (
      <>
        Your plan {plan} is {status}
        {since && <> since {since}</>}.
      </>
    ),
    none: 'Your account has no subscription.',
    later: 'New keys can be created once it is active. Until then your keys can read, but not generate.',
    account: 'See your account',
  },
  table: {
    name: 'Name',
    created: 'Created',
    lastUsed: 'Last used',
    spent: 'Spent in 30 days',
    actions: 'Actions',
    unnamed: 'Unnamed',
    neverUsed: 'Never used',
    metered: 'Metered',
    kinds: { personal: 'personal', developer: 'developer', operator: 'operator', website: 'website' },
    rename: 'Rename',
    newName: 'New name',
    save: 'Save',
    revoke: 'Revoke',
    confirm: 'Revoke for good?',
  },
  limits: {
    title: 'Limits',
    of: (name: ComponentChildren) => <>Limits of {name}</>,
    unnamed: 'an unnamed key',
    until: 'Works until the end of',
    untilHint: 'A day in UTC. Empty: without an end.',
    endsAt: (time: string): string => ` It ends at ${time} on that day, until you choose another.`,
    monthly: 'Credits a month',
    monthlyHint: 'What it may spend in a calendar month, in UTC. Empty: all you have.',
    models: 'Models',
    modelsHint: 'None ticked: all of them.',
    notOnOffer: (id: number): string => `Model version ${id}, not on offer now`,
    ends: 'Until',
    expired: 'Expired',
    spent: (spent: number, limit: number): string => `${formats.number(spent)} of ${words.credits(limit)} this month`,
    only: (count: number): string => `For ${formats.number(count)} ${count === 1 ? 'model' : 'models'} only`,
    save: 'Save limits',
    cancel: 'Cancel',
  },
  done: {
    limits: 'The key has its new limits.',
    renamed: 'The key has its new name.',
    revoked: 'The key is revoked. It works nowhere any more.',
  },
}
