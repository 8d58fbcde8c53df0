/** What an account is told of its credits and its subscription: the mails. Postgres writes each notice with its cause. */
import type { Log } from '../log.js'
import type { Subscription } from './account.js'
import type { MailOrigin, SendMail } from './account-mails.js'

type ChangedSubscription = Omit<Subscription, 'endDate'> & { readonly endDate: string }

/** `data` is that of the webhook of this name, where there is one. */
export type Notice =
  | { readonly kind: 'credits.low'; readonly data: { readonly credits: number; readonly below: number } }
  | { readonly kind: 'credits.out'; readonly data: { readonly credits: number } }
  | { readonly kind: 'payment.failed'; readonly data: { readonly plan: string; readonly endDate: string } }
  | { readonly kind: 'subscription.changed'; readonly data: { readonly subscription: ChangedSubscription | null } }

/** The mails that an account may turn off, and what each says. */
export const NOTICE_MAILS = {
  'credits.low': 'fewer than a fifth of your credits are left',
  'credits.out': 'no credits are left',
  'payment.failed': 'a payment for your subscription has failed',
  'subscription.ended': 'your subscription has ended',
} as const
export type NoticeMail = keyof typeof NOTICE_MAILS

export interface MailChoices {
  /** Those that are turned off. */
  off(accountId: string): Promise<readonly NoticeMail[]>
  turnOff(accountId: string, mails: readonly NoticeMail[]): Promise<void>
}

export type DueNotice = Notice & {
  readonly id: number
  readonly username: string
  /** Null: the account has no confirmed address. */
  readonly email: string | null
  readonly mailsOff: readonly NoticeMail[]
}

export interface NoticeStore {
  /** The next one whose mail is due. Unless it is `done` soon, it is due again later, for a day. */
  claim(): Promise<DueNotice | undefined>
  done(id: number): Promise<void>
  /** Those of more than a month ago. */
  forgetOld(): Promise<void>
}

interface Ports {
  readonly notices: Pick<NoticeStore, 'claim' | 'done'>
  readonly send: SendMail
  readonly log: Log
}

const POLL_MS = 5000
/** Then the mail server itself is at fault. */
const FAILURES_IN_A_ROW = 5

/** Sends the mails of notices, in any number of processes, until it is stopped. */
export function startNoticeMails(
  { notices, send, log }: Ports,
  origin: MailOrigin,
  pollMs = POLL_MS,
): { stop(): Promise<void> } {
  let stopped = false
  let sending: Promise<void> | undefined
  const sendDue = async () => {
    let failures = 0
    try {
      for (let due = await notices.claim(); due; due = stopped ? undefined : await notices.claim()) {
        const mail = mailOf(due, origin)
        try {
          if (mail) await send(mail)
          failures = 0
        } catch (err) {
          log.warn({ err }, 'a mail to an account is tried again later: check SMTP_URL and MAIL_FROM')
          // One address may be refused; the others must not wait for it.
          if (++failures === FAILURES_IN_A_ROW) return
          continue
        }
        await notices.done(due.id)
      }
    } catch (err) {
      log.warn({ err }, 'notices to accounts could not be read')
    }
  }
  const poll = () => {
    sending ??= sendDue().finally(() => {
      sending = undefined
    })
  }
  const timer = setInterval(poll, pollMs)
  poll()
  return {
    async stop() {
      stopped = true
      clearInterval(timer)
      await sending
    },
  }
}

/** Undefined: there is nothing to say, or it is not wanted. */
function mailOf(notice: DueNotice, origin: MailOrigin) {
  const { username, email, mailsOff } = notice
  const said = textOf(notice, origin)
  if (!email || !said || mailsOff.includes(said.mail)) return undefined
  const text = `Hello ${username},

${said.text}

You can turn these mails off at ${origin.baseUrl}/account#mails
`
  return { to: email, subject: said.subject, text }
}

function textOf({ kind, data }: Notice, { place, baseUrl }: MailOrigin) {
  if (kind === 'credits.low')
    return {
      mail: 'credits.low',
      subject: `Few credits are left on ${place}`,
      text: `your account on ${place} has ${data.credits} ${data.credits === 1 ? 'credit' : 'credits'} left,
fewer than a fifth of what it held when credits were last added. See what they went to: ${baseUrl}/usage`,
    } as const
  if (kind === 'credits.out')
    return {
      mail: 'credits.out',
      subject: `No credits are left on ${place}`,
      text: `your account on ${place} has no credits left, so it can make no images until credits are
added. See what they went to: ${baseUrl}/usage`,
    } as const
  if (kind === 'payment.failed')
    return {
      mail: 'payment.failed',
      subject: `A payment on ${place} has failed`,
      text: `the payment for your plan ${data.plan} on ${place} has failed. It will be tried again; unless it succeeds, you
can make images until ${data.endDate.slice(0, 10)} (UTC). Check your means of payment: ${baseUrl}/account`,
    } as const
  const { subscription } = data
  if (subscription?.status !== 'expired') return undefined
  return {
    mail: 'subscription.ended',
    subject: `Your subscription on ${place} has ended`,
    text: `your subscription of the plan ${subscription.plan} on ${place} has ended on ${subscription.endDate.slice(0, 10)} (UTC). Your
images stay where they are; to make new ones, renew it: ${baseUrl}/account`,
  } as const
}
