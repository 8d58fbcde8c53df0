/** What an account is told of its credits and its subscription: the mails. Postgres writes each notice with its cause. */
import type { Log } from '../log.js'
import type { Subscription } from './account.js'
import type { SendMail } from './account-mails.js'
import type { MailOrigin, MailText, MailTexts } from './mail-texts.js'

type ChangedSubscription = Omit<Subscription, 'endDate'> & { readonly endDate: string }

/** `data` is that of the webhook of this name, where there is one. */
export type Notice =
  | { readonly kind: 'credits.low'; readonly data: { readonly credits: number; readonly below: number } }
  | { readonly kind: 'credits.out'; readonly data: { readonly credits: number } }
  | { readonly kind: 'payment.failed'; readonly data: { readonly plan: string; readonly endDate: string } }
  | { readonly kind: 'subscription.changed'; readonly data: { readonly subscription: ChangedSubscription | null } }

/** The mails that an account may turn off. */
export const NOTICE_MAILS = ['credits.low', 'credits.out', 'payment.failed', 'subscription.ended'] as const
export type NoticeMail = (typeof NOTICE_MAILS)[number]

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
  /** Which the account remembers. */
  readonly language: string | null
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
  const { username, email, language, mailsOff } = notice
  const texts = origin.textsIn(language)
  const [mail, said] = saidBy(notice, texts, origin) ?? []
  if (!email || !mail || !said || mailsOff.includes(mail)) return undefined
  const offUrl = `${origin.baseUrl}/account#mails`
  const text = texts.notice({ username, text: said.text, offUrl })
  return { to: email, subject: said.subject, text, unsubscribeUrl: offUrl }
}

function saidBy(
  { kind, data }: Notice,
  texts: MailTexts,
  { place, baseUrl, ...origin }: MailOrigin,
): readonly [NoticeMail, MailText] | undefined {
  const usageUrl = `${baseUrl}/usage`
  const offersUrl = origin.offersUrl(texts.language)
  if (kind === 'credits.low') return [kind, texts.creditsLow({ place, credits: data.credits, usageUrl })]
  if (kind === 'credits.out') return [kind, texts.creditsOut({ place, usageUrl, offersUrl })]
  const account = `${baseUrl}/account`
  if (kind === 'payment.failed') {
    const { plan, endDate } = data
    return [kind, texts.paymentFailed({ place, plan, endDate: new Date(endDate), url: account })]
  }
  if (data.subscription?.status !== 'expired') return undefined
  const { plan, endDate } = data.subscription
  const ended = { place, plan, endDate: new Date(endDate), url: offersUrl ?? account }
  return ['subscription.ended', texts.subscriptionEnded(ended)]
}
