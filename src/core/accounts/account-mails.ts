/** The mails of accounts: links to sign in, and links that confirm an address. */
import { setTimeout as delay } from 'node:timers/promises'
import { fairLine } from '../../lib/fair-line.js'
import type { Log } from '../log.js'
import type { MailOrigin, MailText } from './mail-texts.js'
import {
  CONFIRMATION_MINUTES,
  type CredentialStore,
  hashToken,
  LINK_MINUTES,
  newSignInLink,
  newToken,
} from './session.js'

interface Mail extends MailText {
  readonly to: string
  /** Where mails of its kind are turned off, if they can be. */
  readonly unsubscribeUrl?: string
}

/** The mail server does not take this mail, now or later. What it says may be logged. */
export class MailRefused extends Error {
  override readonly name = 'MailRefused'
}

/**
 * @throws MailRefused, or another error where it may be sent later; what it throws may be logged, so it holds neither address
 * nor text
 */
export type SendMail = (mail: Mail) => Promise<void>

export interface UnsentMail extends Mail {
  readonly createdAt: Date
}

export interface UnsentMailStore {
  add(mail: Mail): Promise<void>
  /** The newest first, those of a day. */
  list(): Promise<UnsentMail[]>
}

interface WarnedAccount {
  readonly id: string
  readonly username: string
  /** The present one. */
  readonly email: string
}

export interface AccountMails {
  /**
   * Has a link sent to the account of this name or address, where there is one and it has an address.
   * @param language of whoever asks, for an account that remembers none
   * @param networks of whoever asks, the widest first
   */
  sendSignInLink(nameOrEmail: string, language: string, networks: readonly string[]): void
  /**
   * Has a link sent to `email`, with which the account proves that the address is its owner's; links for addresses that it
   * asked for before end. Resolves once the link waits to be used; to false if too many mails went to that address.
   * @param networks of whoever makes the account only now
   */
  sendConfirmation(accountId: string, email: string, language: string, networks?: readonly string[]): Promise<boolean>
  /** Tells the owner at the present address that another one was asked for. */
  sendEmailWarning(account: WarnedAccount, newEmail: string, language: string): void
  /** Sends none a second time any more; resolves when all of them are sent, or have failed. */
  stop(): Promise<unknown>
}

interface Ports {
  readonly credentials: Pick<CredentialStore, 'find' | 'addLink' | 'cancelEmail'>
  readonly send: SendMail
  readonly counter: { hit(key: string, windowMs: number, max: number): Promise<{ readonly current: number }> }
  readonly log: Log
}

/** Mails to one address, whatever they are about and whoever asks for them. */
const LIMIT = { windowMs: 15 * 60_000, max: 4 } as const

/** Each is a connection to the mail server, which lets us have few. */
const LINE = { atOnce: 8, mostWaiting: 500 } as const

/**
 * Between the tries of a mail. Servers that put strangers off (greylisting) and those that are asked too often take it after
 * some minutes; a link must come before it ends.
 */
const PAUSES_MS = [20_000, 100_000, 240_000]
/** So many mails wait for their next try. */
const MOST_POSTPONED = 500

const strangers = (networks: readonly string[]) => ['strangers', ...networks]

/** Nobody waits for these mails: neither the answer nor its time tells whether there is an account. */
export function accountMails(
  { credentials, send, counter, log }: Ports,
  { baseUrl, place, textsIn }: MailOrigin,
  pauses: readonly number[] = PAUSES_MS,
): AccountMails {
  const underway = new Set<Promise<void>>()
  const stopping = new AbortController()
  let postponed = 0
  const later = (work: () => Promise<void>) => {
    const done = work()
      .catch((err) => log.error({ err }, 'a mail to an account could not be sent: check SMTP_URL and MAIL_FROM'))
      .finally(() => underway.delete(done))
    underway.add(done)
  }
  // Strangers and accounts take turns, so that nobody keeps the others' mails back.
  const takeTurn = fairLine(LINE, () => new Error('too many mails wait for the mail server'))
  const sendInTurn = async (path: readonly string[], mail: Mail) => {
    for (const pause of pauses) {
      try {
        return await takeTurn(path, () => send(mail))
      } catch (err) {
        if (err instanceof MailRefused || stopping.signal.aborted || postponed >= MOST_POSTPONED) throw err
        const again = `a mail to an account could not be sent, and is tried again in ${pause / 1000} s`
        log.warn({ err }, `${again}: check SMTP_URL and MAIL_FROM`)
      }
      postponed++
      await delay(pause, undefined, { signal: stopping.signal }).catch(() => undefined)
      postponed--
    }
    return takeTurn(path, () => send(mail))
  }
  const mayMail = async (to: string, kind = 'mail') => {
    const key = `${kind}:${hashToken(to.toLowerCase()).toString('base64url')}`
    return (await counter.hit(key, LIMIT.windowMs, LIMIT.max)).current <= LIMIT.max
  }

  return {
    sendSignInLink: (nameOrEmail, language, networks) =>
      later(async () => {
        const found = await credentials.find(nameOrEmail)
        // Each mail holds a link that works: whoever uses the limit up for others has sent them what they want.
        if (!found?.email || !(await mayMail(found.email))) return
        const { url } = await newSignInLink(credentials, found.accountId, baseUrl)
        const { username } = found
        const mail = textsIn(found.language, language).signInLink({ place, username, minutes: LINK_MINUTES, url })
        await sendInTurn(strangers(networks), { to: found.email, ...mail })
      }),

    async sendConfirmation(accountId, email, language, networks) {
      // Counted by itself: how many sign-in links went there would tell whether an account has the address.
      if (!(await mayMail(email, 'mail-confirmation'))) return false
      const token = newToken()
      await credentials.cancelEmail(accountId)
      await credentials.addLink(accountId, hashToken(token), email, CONFIRMATION_MINUTES)
      const url = `${baseUrl}/confirm-email?token=${token}`
      const mail = textsIn(language).confirmation({ place, minutes: CONFIRMATION_MINUTES, url })
      later(() => sendInTurn(networks ? strangers(networks) : ['accounts', accountId], { to: email, ...mail }))
      return true
    },

    sendEmailWarning: ({ id, username, email }, newEmail, language) =>
      later(async () => {
        // Counted by itself: nobody can use it up with mails of another kind.
        if (!(await mayMail(email, 'mail-warning'))) return
        const url = `${baseUrl}/account`
        const mail = textsIn(language).emailWarning({ place, username, newEmail, url })
        await sendInTurn(['accounts', id], { to: email, ...mail })
      }),

    stop() {
      // What waits is tried once more, at once.
      stopping.abort()
      return Promise.all(underway)
    },
  }
}

/** For a service without a mail server: its operator passes the mails on. */
export const keepMails =
  (unsent: Pick<UnsentMailStore, 'add'>, log: Log): SendMail =>
  async (mail) => {
    await unsent.add(mail)
    log.info({ mail }, 'a mail waits on /operator/mails: pass it on')
  }
