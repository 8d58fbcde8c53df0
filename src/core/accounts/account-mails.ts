/** The mails of accounts: links to sign in, and links that confirm an address. */
import type { Log } from '../log.js'
import {
  CONFIRMATION_MINUTES,
  type CredentialStore,
  hashToken,
  LINK_MINUTES,
  newSignInLink,
  newToken,
} from './session.js'

interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
}

/** @throws when it was not sent; what it throws may be logged, so it holds neither address nor text */
export type SendMail = (mail: Mail) => Promise<void>

export interface UnsentMail extends Mail {
  readonly createdAt: Date
}

export interface UnsentMailStore {
  add(mail: Mail): Promise<void>
  /** The newest first, those of a day. */
  list(): Promise<UnsentMail[]>
}

export interface AccountMails {
  /** Has a link sent to the account of this name or address, where there is one and it has an address. */
  sendSignInLink(nameOrEmail: string): void
  /**
   * Has a link sent to `email`, with which the account proves that the address is its owner's; links for addresses that it
   * asked for before end. Resolves once the link waits to be used; to false if too many mails went to that address.
   */
  sendConfirmation(accountId: string, email: string): Promise<boolean>
  /** Tells the owner at the present address that another one was asked for. */
  sendEmailWarning(username: string, email: string, newEmail: string): void
  /** When all of them are sent, or have failed. */
  settled(): Promise<unknown>
}

interface Ports {
  readonly credentials: Pick<CredentialStore, 'find' | 'addLink' | 'cancelEmail'>
  readonly send: SendMail
  readonly counter: { hit(key: string, windowMs: number, max: number): Promise<{ readonly current: number }> }
  readonly log: Log
}

/** Where mails come from, as they say it. */
export interface MailOrigin {
  readonly baseUrl: string
  /** `NAME at HOST` */
  readonly place: string
}

/** @param name of the installation */
export const mailOrigin = (name: string, baseUrl: string): MailOrigin => ({
  baseUrl,
  place: `${name} at ${new URL(baseUrl).host}`,
})

/** Mails to one address, whatever they are about and whoever asks for them. */
const LIMIT = { windowMs: 15 * 60_000, max: 4 } as const

/** Nobody waits for these mails: neither the answer nor its time tells whether there is an account. */
export function accountMails({ credentials, send, counter, log }: Ports, { baseUrl, place }: MailOrigin): AccountMails {
  const underway = new Set<Promise<void>>()
  const later = (work: () => Promise<void>) => {
    const done = work()
      .catch((err) => log.error({ err }, 'a mail to an account could not be sent: check SMTP_URL and MAIL_FROM'))
      .finally(() => underway.delete(done))
    underway.add(done)
  }
  const mayMail = async (to: string, kind = 'mail') => {
    const key = `${kind}:${hashToken(to.toLowerCase()).toString('base64url')}`
    return (await counter.hit(key, LIMIT.windowMs, LIMIT.max)).current <= LIMIT.max
  }

  return {
    sendSignInLink: (nameOrEmail) =>
      later(async () => {
        const { accountId, username, email } = (await credentials.find(nameOrEmail)) ?? {}
        // Each mail holds a link that works: whoever uses the limit up for others has sent them what they want.
        if (!accountId || !email || !(await mayMail(email))) return
        const { url } = await newSignInLink(credentials, accountId, baseUrl)
        const text = `Hello ${username},

this link signs you in to ${place}. It works once, and ends in
${LINK_MINUTES} minutes:

${url}

You get this mail because somebody asked for it on our sign-in page. If that was not
you, ignore it: without the link nobody can do anything.
`
        await send({ to: email, subject: `Sign in to ${place}`, text })
      }),

    // Without the name: a stranger may have chosen it, and the reader takes each word for ours.
    async sendConfirmation(accountId, email) {
      // Counted by itself: how many sign-in links went there would tell whether an account has the address.
      if (!(await mayMail(email, 'mail-confirmation'))) return false
      const token = newToken()
      await credentials.cancelEmail(accountId)
      await credentials.addLink(accountId, hashToken(token), email, CONFIRMATION_MINUTES)
      const text = `Hello,

somebody gave this mail address for an account on ${place}. If that was you, confirm
the address with this link. It works once, and ends in ${CONFIRMATION_MINUTES} minutes:

${baseUrl}/confirm-email?token=${token}

If it was not you, ignore this mail: the account then never gets your address.
`
      later(() => send({ to: email, subject: `Confirm your address for ${place}`, text }))
      return true
    },

    sendEmailWarning: (username, email, newEmail) =>
      later(async () => {
        // Counted by itself: nobody can use it up with mails of another kind.
        if (!(await mayMail(email, 'mail-warning'))) return
        const text = `Hello ${username},

somebody who is signed in to your account on ${place} asked to change its mail address to

${newEmail}

It changes when the link that was sent there is used. If it was you, there is nothing to do here.

If it was not you, cancel the change at once, change your password, and sign out everywhere:

${baseUrl}/account
`
        await send({ to: email, subject: `Your address for ${place} is about to change`, text })
      }),

    settled: () => Promise.all(underway),
  }
}

/** For a service without a mail server: its operator passes the mails on. */
export const keepMails =
  (unsent: Pick<UnsentMailStore, 'add'>, log: Log): SendMail =>
  async (mail) => {
    await unsent.add(mail)
    log.info({ mail }, 'a mail waits on /operator/mails: pass it on')
  }
