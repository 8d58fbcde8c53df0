import { formats } from './words.js'

export const accountExport = {
  title: 'Your data',
  about:
    'One ZIP file with all that this site holds on your account: your images, your prompts, and what else there is.',
  promptsKept: (days: number): string => `A prompt is kept for ${days === 1 ? 'a day' : `${days} days`}, then emptied.`,
  imagesKept: (days: number): string =>
    `An image is kept for ${days === 1 ? 'a day' : `${days} days`}, then removed: download what you want to keep.`,
  download: 'Download your data',
  intro: (username: string, at: Date): string =>
    `Everything that is held on the account ${username}, ${formats.time(at)}.\n` +
    'Each .json file is a list. Times are in UTC. Passwords, keys and other secrets are left out.',
  files: {
    account: 'The account: its name, address, language, credits, and which mails it does not get.',
    subscription: 'The plan, from when until when, and its present period.',
    keys: 'The API keys, each with its name and its last four characters.',
    sessions: 'Where the account is signed in, as the browsers name themselves.',
    'sign-in-links': 'Links that were mailed and not used yet, without the links themselves.',
    identities: 'The accounts of other services with which one signs in.',
    generations:
      'What was generated: prompts, parameters, times, and the images of each, with the IDs of the folders that they are in.',
    'request-keys': 'The Idempotency-Keys of requests of the last day.',
    folders: 'The folders of the gallery. The one without a name is the favourites.',
    'saved-settings': 'Settings of the Create page that were saved under a name.',
    'up-next': 'What is lined up on the Create page.',
    credits: 'Every credit that came or went.',
    usage: 'The images that developer keys have made, for counting.',
    'payment-customers': 'Who the account is to the payment provider.',
    'paid-subscriptions': 'Subscriptions that are or were paid there.',
    payments: 'What was paid. Amounts are in the smallest unit of the currency.',
    'payment-events': 'What the payment provider reported in the last 30 days, in its own words.',
    webhooks: 'Addresses that are told when something happens.',
    'webhook-deliveries': 'What was sent to them.',
    notices: 'What the account was told about its credits and payments.',
    mails: 'Mails that wait for an operator to pass them on, without their texts, which hold links that sign in.',
    'refused-prompts': 'Prompts that moderation refused, and why.',
    reports:
      'Reports of visitors about images. Nobody knows who sent them; what they wrote, and the time of day, is left out.',
    'operator-acts': 'What the operators of this site did about the account, and why. Their names are left out.',
  },
  images: 'The images, private ones included, named as in generations.json.',
  missing:
    'Only if there are any: images whose files are missing on the server or could not be read, and files of its archive that could not be read. Ask for another export later, or tell its operator.',
}
