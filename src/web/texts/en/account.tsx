import type { ComponentChildren } from 'preact'
import { words } from './words.js'

type Link = (text: string) => ComponentChildren

export const account = {
  title: 'Account',
  spent: 'Credits spent in 30 days',
  remove: 'Delete your account',
  held: {
    title: 'Credits',
    owed: (count: number): string =>
      `You owe ${words.credits(count)}: until your balance is above 0 you can make no images.`,
    price: 'An image costs one or more, as its model says.',
  },
  plan: {
    title: 'Plan',
    none: 'None',
    since: (date: ComponentChildren): ComponentChildren => <>since {date}</>,
    until: (date: ComponentChildren): ComponentChildren => <>until {date}</>,
    needed: 'Generating images needs an active subscription.',
  },
  password: {
    changeTitle: 'Change your password',
    setTitle: 'Set a password',
    current: 'Current password',
    next: 'New password',
    /** Behind how long it must be. */
    hint: '. You stay signed in here, and nowhere else.',
    change: 'Change password',
    set: 'Set password',
  },
  done: {
    password: 'Your password is changed. Every other browser is signed out.',
    session: 'That browser is signed out.',
    mails: 'Your choice of mails is saved.',
    canceled: 'Your address stays as it is: the link no longer works.',
    confirmed: 'Your address is confirmed.',
    language: 'Your language is saved.',
  },
  language: {
    title: 'Language',
    label: 'The website speaks',
    ofBrowser: 'The language of the browser',
    save: 'Save',
  },
  email: {
    title: 'Email address',
    yours: (email: ComponentChildren): ComponentChildren => <>Your address is {email}. Links to sign in go there.</>,
    none: 'Your account has no confirmed address. With one, a link can sign you in without a password.',
    pending: (email: ComponentChildren): ComponentChildren => <>{email} is not confirmed yet.</>,
    ends: (time: ComponentChildren): ComponentChildren => <>The link ends {time}.</>,
    sendAgain: 'Send again',
    newLink: 'New link',
    cancel: 'Cancel',
    /** For who does not see what is canceled. */
    cancelChange: 'Cancel the change of the address',
    newAddress: 'New address',
    address: 'Address',
    hint: 'We send a link there to confirm that it is yours.',
    password: 'Your password',
    change: 'Change address',
    set: 'Set address',
    wrong: 'That is no email address. Check it.',
    tooMany: 'Too many links were asked for, by you or from here. Wait a quarter of an hour.',
    sent: (minutes: number): string =>
      `A link is on its way to the address. It works once, and ends in ${minutes} minutes.`,
    waits: (minutes: number): string =>
      `The address waits to be confirmed: ask the operator of this site for the link, which ends in ${minutes} minutes.`,
  },
  mails: {
    title: 'Mails',
    none: (add: Link): ComponentChildren => <>You get none: your account has no mail address. {add('Add one')}</>,
    when: 'Send a mail when',
    kinds: {
      'credits.low': 'fewer than a fifth of your credits are left',
      'credits.out': 'no credits are left',
      'payment.failed': 'a payment for your subscription has failed',
      'subscription.ended': 'your subscription has ended',
    },
    save: 'Save',
  },
  sessions: {
    title: 'Where you are signed in',
    thisOne: 'this one',
    seen: (time: ComponentChildren): ComponentChildren => <>Last seen {time}</>,
    end: 'End',
    endAll: 'Sign out everywhere',
    confirm: 'Sign out here, too?',
  },
  history: {
    title: 'Credit history',
    none: (create: Link): ComponentChildren => <>No credits have moved yet. {create('Make an image')}</>,
    what: 'What',
    when: 'When',
    by: 'By',
    credits: 'Credits',
    balance: 'Balance',
    image: 'An image',
    givenBack: 'Given back',
    canceled: 'Canceled',
    failed: 'Failed',
    kinds: {
      grant: { badge: 'Added', text: 'Credits added to your account' },
      purchase: { badge: 'Bought', text: 'Credits bought' },
      adjustment: { badge: 'Corrected', text: 'Credits corrected' },
      expire: { badge: 'Expired', text: 'Credits of a period that has ended' },
    },
    sources: { plan: 'Plan', payment: 'Payment', operator: 'Operator' },
    /** Of a plan or a payment, as the ledger has it. */
    note: (note: string): string => note,
    website: 'Website',
    unnamedKey: 'Unnamed key',
  },
  deletion: {
    intro: (username: ComponentChildren): ComponentChildren => (
      <>The account {username} ends at once, and nobody can bring it back. Within minutes these are deleted, too:</>
    ),
    gone: [
      'your images, also at the addresses that you gave to others, your folders, prompts and saved settings',
      'your address, sessions and ways to sign in',
      'the names of your keys, which stop working, and your webhooks',
    ],
    credits: (count: number): string => `your ${words.credits(count)}, which are not paid out`,
    subscription: 'your subscription: it is not renewed',
    exportFirst: 'Download your data first',
    stays:
      'These stay without your name: what was charged and paid, and when images were made and of which size. The log of the operators keeps what they did for your account, without its name, too. Copies that others have made of your images stay with them.',
    name: 'Type the name of your account',
    password: 'Your password',
    confirm: 'Delete my account for good',
    keep: 'Keep it',
    done: 'Your account is deleted',
    after: 'You are signed out everywhere. Your images are removed within minutes.',
  },
  fields: {
    email: 'Email',
    atLeast: (characters: number): string => `At least ${characters} characters`,
    openLink: 'Open the link in the mail that we sent there.',
    askForLink: 'No mails are sent from here: ask the operator of this site for the link.',
  },
}
