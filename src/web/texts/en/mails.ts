import type { MailPlace, MailTexts } from '../../../core/accounts/mail-texts.js'
import { formats, words } from './words.js'

const at = ({ name, host }: MailPlace) => `${name} at ${host}`
const day = (moment: Date) => moment.toISOString().slice(0, 10)

/** The mails to accounts. */
export const mails: MailTexts = {
  language: formats.language,
  signInLink: ({ place, username, minutes, url }) => ({
    subject: `Sign in to ${at(place)}`,
    text: `Hello ${username},

this link signs you in to ${at(place)}. It works once, and ends in
${minutes} minutes:

${url}

You get this mail because somebody asked for it on our sign-in page. If that was not
you, ignore it: without the link nobody can do anything.
`,
  }),
  confirmation: ({ place, minutes, url }) => ({
    subject: `Confirm your address for ${at(place)}`,
    text: `Hello,

somebody gave this mail address for an account on ${at(place)}. If that was you, confirm
the address with this link. It works once, and ends in ${minutes} minutes:

${url}

If it was not you, ignore this mail: the account then never gets your address.
`,
  }),
  emailWarning: ({ place, username, newEmail, url }) => ({
    subject: `Your address for ${at(place)} is about to change`,
    text: `Hello ${username},

somebody who is signed in to your account on ${at(place)} asked to change its mail address to

${newEmail}

It changes when the link that was sent there is used. If it was you, there is nothing to do here.

If it was not you, cancel the change at once, change your password, and sign out everywhere:

${url}
`,
  }),
  notice: ({ username, text, offUrl }) => `Hello ${username},

${text}

You can turn these mails off at ${offUrl}
`,
  creditsLow: ({ place, credits, usageUrl }) => ({
    subject: `Few credits are left on ${at(place)}`,
    text: `your account on ${at(place)} has ${words.credits(credits)} left,
fewer than a fifth of what it held when credits were last added. See what they went to: ${usageUrl}`,
  }),
  creditsOut: ({ place, usageUrl, offersUrl }) => ({
    subject: `No credits are left on ${at(place)}`,
    text: `your account on ${at(place)} has no credits left, so it can make no images until credits are
added.${offersUrl ? ` Get more: ${offersUrl}\n` : ' '}See what they went to: ${usageUrl}`,
  }),
  paymentFailed: ({ place, plan, endDate, url }) => ({
    subject: `A payment on ${at(place)} has failed`,
    text: `the payment for your plan ${plan} on ${at(place)} has failed. It will be tried again; unless it succeeds, you
can make images until ${day(endDate)} (UTC). Check your means of payment: ${url}`,
  }),
  subscriptionEnded: ({ place, plan, endDate, url }) => ({
    subject: `Your subscription on ${at(place)} has ended`,
    text: `your subscription of the plan ${plan} on ${at(place)} has ended on ${day(endDate)} (UTC). Your
images stay where they are; to make new ones, renew it: ${url}`,
  }),
}
