import type { ComponentChildren } from 'preact'

type Link = (text: string) => ComponentChildren

export const webhooks = {
  title: 'Webhooks',
  lead: (keys: Link, reference: Link) => (
    <>
      Your server is told when a generation ends, instead of asking: of those made with a {keys('key')}, and of those
      made here. {reference('Read how to verify an event')}.
    </>
  ),
  yours: 'Your webhooks',
  none: 'No webhooks yet. Add the first one below.',
  url: 'URL',
  events: 'Events',
  added: 'Added',
  status: 'Status',
  all: 'All',
  most: (count: number): string => `You have ${count} webhooks, the most there may be. Delete one to add another.`,
  statuses: { enabled: 'enabled', disabled: 'disabled', paused: 'paused' },
  add: {
    title: 'Add a webhook',
    description: 'Description (optional)',
    when: 'Send an event when',
    submit: 'Add webhook',
    eventNames: {
      'generation.succeeded': 'an image of the Personal Access API, or of this site, is ready',
      'generation.failed': 'a generation has failed',
      'image.completed': 'an image of Create Image is ready',
      'credits.low': 'fewer than a fifth of your credits are left',
      'subscription.changed': 'your subscription has changed or ended',
    },
  },
  one: {
    title: 'Webhook',
    allWebhooks: 'All webhooks',
    about: 'About this webhook',
    description: 'Description',
    test: 'Send a test',
    rotate: 'Rotate secret',
    rotateConfirm: 'Make a new secret?',
    remove: 'Delete',
    removeConfirm: 'Delete for good?',
    rotation: (hours: number): string => `After a rotation the old secret signs beside the new one for ${hours} hours.`,
  },
  secret: {
    title: 'Copy the secret now',
    once: 'It is shown this once. With it your server verifies that an event comes from here.',
    label: 'Signing secret',
  },
  deliveries: {
    title: 'Deliveries',
    paused: (until: ComponentChildren) => <>Paused after failed tries: nothing is sent before {until}.</>,
    none: 'Nothing was sent yet.',
    tryOne: 'Send a test to see whether your server answers.',
    event: 'Event',
    created: 'Created',
    status: 'Status',
    tries: 'Tries',
    next: 'Next try',
    noNext: 'None',
    statuses: { pending: 'pending', delivered: 'delivered', failed: 'failed' },
    faults: {
      address_refused: 'The name leads to an address that may not be called.',
      dns_failed: 'The name was not found.',
      connection_failed: 'No connection.',
      tls_failed: 'The certificate is not valid.',
      timed_out: 'No answer in time.',
      redirected: 'It answered with a redirect, which is not followed.',
      status_not_2xx: 'It did not answer with a 2xx status.',
      endpoint_gone: 'It answered 410 Gone.',
      endpoint_ended: 'The webhook was deleted or disabled.',
      picture_removed: 'The image was removed.',
      too_old: 'It waited for too long.',
    },
  },
}
