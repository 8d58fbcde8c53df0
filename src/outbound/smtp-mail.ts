import type { SendMail } from '../core/accounts/account-mails.js'

const CONNECT_MS = 10_000
const SILENT_MS = 15_000

interface Sender {
  readonly name: string
  readonly address: string
}

/**
 * Sends mails through the server of SMTP_URL: `smtps:` over TLS from the start, `smtp:` with STARTTLS where the server
 * offers it, and never a password without.
 */
export function smtpMail(smtpUrl: string, from: string | Sender): SendMail {
  return async ({ to, subject, text }) => {
    const { createTransport } = await import('nodemailer') // few servers ever send one
    const transport = createTransport({
      url: smtpUrl,
      requireTLS: new URL(smtpUrl).password !== '',
      connectionTimeout: CONNECT_MS,
      greetingTimeout: CONNECT_MS,
      socketTimeout: SILENT_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    })
    try {
      // An object: as a text, an address could name several.
      const recipient = { name: '', address: to }
      const headers = { 'Auto-Submitted': 'auto-generated' }
      await transport.sendMail({ from, to: recipient, subject, text, headers, textEncoding: 'quoted-printable' })
    } catch (error) {
      // Its message may hold the recipient, and so may what the server said.
      const { code = '', command = '', responseCode = '' } = error as Record<string, unknown>
      throw new Error(`the mail server did not take it: ${[code, command, responseCode].filter(Boolean).join(' ')}`)
    } finally {
      transport.close()
    }
  }
}
