import { isIP, isIPv6 } from 'node:net'
import { domainToASCII } from 'node:url'
import { MailRefused, type SendMail } from '../core/accounts/account-mails.js'
import { isTlsFailure, isUnreached, reasonOf } from '../lib/causes.js'

const CONNECT_MS = 10_000
const SILENT_MS = 15_000

interface Sender {
  readonly name: string
  readonly address: string
}

/**
 * Sends mails through the server of SMTP_URL: `smtps:` over TLS from the start, `smtp:` with STARTTLS where the server
 * offers it, and never a password without.
 * @param host of the website: as whom we introduce ourselves to the server
 */
export function smtpMail(smtpUrl: string, from: Sender, host = ''): SendMail {
  const name = introduction(smtpUrl, from, host)
  return async ({ to, subject, text, unsubscribeUrl }) => {
    const transport = await transportTo(smtpUrl, name)
    try {
      // An object: as a text, an address could name several.
      const recipient = { name: '', address: to }
      const headers = {
        'Auto-Submitted': 'auto-generated',
        // Exchange sends notes of absence to what says only the above.
        'X-Auto-Response-Suppress': 'All',
        ...(unsubscribeUrl && { 'List-Unsubscribe': `<${unsubscribeUrl}>` }),
      }
      await transport.sendMail({ from, to: recipient, subject, text, headers, textEncoding: 'quoted-printable' })
    } catch (error) {
      const sentence = `the mail server did not take it: ${sentenceOf(error, name, to)}`
      throw isForGood(error as Failure) ? new MailRefused(sentence) : new Error(sentence)
    } finally {
      transport.close()
    }
  }
}

/** Why no mail can be sent, as far as can be told without sending one; undefined: nothing is known to be wrong. */
export async function mailServerProblem(smtpUrl: string, from: Sender, host: string) {
  const name = introduction(smtpUrl, from, host)
  const transport = await transportTo(smtpUrl, name)
  try {
    await transport.verify()
    return undefined
  } catch (error) {
    return sentenceOf(error, name)
  } finally {
    transport.close()
  }
}

async function transportTo(smtpUrl: string, name: string | undefined) {
  const { createTransport } = await import('nodemailer') // few servers ever send one
  return createTransport({
    url: smtpUrl,
    ...(name && { name }),
    requireTLS: new URL(smtpUrl).password !== '',
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: SILENT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
}

/** The sender of an installation that names none. */
export const senderAt = (name: string, host: string): Sender => ({ name, address: `no-reply@${literal(host) ?? host}` })

/**
 * With which name we introduce ourselves (EHLO). A container's own name is no domain, and nodemailer would say 127.0.0.1 then:
 * servers that look at it refuse both.
 */
function introduction(smtpUrl: string, from: Sender, host: string): string | undefined {
  const domain = domainToASCII(from.address.slice(from.address.lastIndexOf('@') + 1))
  const given = new URL(smtpUrl).searchParams.get('name')
  const isDomain = (it: string) => /^[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(it) && !isIP(it)
  return given || [host.replace(/\.$/, ''), domain].find(isDomain) || literal(host)
}

/** An address as SMTP writes it; undefined: it is a name. */
function literal(host: string): string | undefined {
  const address = host.replace(/^\[|\]$/g, '')
  if (isIP(address) === 0) return undefined
  return isIPv6(address) ? `[IPv6:${address}]` : `[${address}]`
}

/** What nodemailer adds to an error; `originalCode` is the socket's. */
interface Failure {
  readonly code?: string
  readonly originalCode?: string
  readonly command?: string
  readonly message: string
  readonly response?: string
  /** Of the response. */
  readonly responseCode?: number
}

/** Many servers look at the sender late, and refuse the recipient or the text for it. */
const OF_THE_SENDER = /\bsend ?as|sender address|from address|not owned by user|not verified/i

/** Codes from 500 on; those below say "later", as do most faults of the way there. */
const isForGood = ({ responseCode = 0 }: Failure) => responseCode >= 500

/** Why it failed, and what to correct; without the recipient, the text and the links, which the server may repeat. */
function sentenceOf(error: unknown, name = 'localhost', to = ''): string {
  const failure = error as Failure
  const { code = '', originalCode, command, response } = failure
  const words =
    response === undefined ? reasonOf({ ...wrapped(error), code: originalCode ?? code }) : quoted(response, to)
  const said = [words, command && command !== 'CONN' && `at ${command}`].filter(Boolean).join(' ')
  const correction = correctionOf(failure, name)
  return correction === undefined ? said : `${said}: ${correction}`
}

/** The error without its code, which nodemailer has replaced by its own. */
const wrapped = (error: unknown) => {
  const { message, errors, cause } = error as { message: string; errors?: unknown; cause?: unknown }
  return { message, errors, cause }
}

function correctionOf({ code, originalCode, command, message, response = '' }: Failure, name: string) {
  const cause = { message, code: originalCode ?? code }
  if (/wrong version number|packet length too long/i.test(message) || /greeting never received/i.test(message))
    return 'SMTP_URL must begin with smtps:// for a port that speaks TLS from the start (465), and with smtp:// for others (587, 25); see that it runs'
  if (/HELO|EHLO/i.test(response) || command === 'EHLO' || command === 'HELO')
    return `it was told the name ${name}; if it wants another, add ?name=HOST to SMTP_URL`
  if (code === 'EAUTH')
    return 'correct user and password in SMTP_URL, with %XX for signs other than letters and digits; many providers want a password made for programs (an app password)'
  if (code === 'EOAUTH2' || code === 'ENOAUTH') return 'it takes no password: give SMTP_URL none, or another server'
  if (isTlsFailure(cause) || /certificate|altnames/i.test(message))
    return 'name the file with the certificate of its issuer in NODE_EXTRA_CA_CERTS, and in SMTP_URL a host that its certificate names; for a server in your own network that wants no password, add ?ignoreTLS=true'
  if (code === 'ETLS')
    return 'it offers no TLS, without which no password is sent: use smtps://, or SMTP_URL without a password'
  if (command === 'MAIL FROM' || OF_THE_SENDER.test(response))
    return 'MAIL_FROM must be an address that it lets us send from'
  if (isUnreached(cause) || code === 'EDNS' || code === 'ETIMEDOUT')
    return 'correct host and port in SMTP_URL, and see that it runs'
  return undefined
}

/** What the server said, on one line, without addresses and links. */
function quoted(response: string, to: string): string {
  const line = response.replace(/\s+/g, ' ').slice(0, 400)
  const hidden = line.replace(/[^\s<>"'(]+@[^\s<>"')]+|\bhttps?:\S+/gi, '…')
  const [local = ''] = to.toLowerCase().split('@')
  const words = hidden.split(/([\p{L}\p{N}.+_-]+)/u).map((word) => (word.toLowerCase() === local ? '…' : word))
  return JSON.stringify(words.join('').slice(0, 300))
}
