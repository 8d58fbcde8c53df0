import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

export interface ReceivedMail {
  readonly to: string[]
  readonly text: string
  readonly secure: boolean
  readonly user: string | undefined
}

export interface Mailbox {
  readonly port: number
  readonly received: ReceivedMail[]
  close(): Promise<void>
}

/** A real SMTP server that keeps what it is sent; its certificate, for TLS, is one that nobody trusts. */
export async function startMailbox(options: SMTPServerOptions = {}, wanted = 0): Promise<Mailbox> {
  const received: ReceivedMail[] = []
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    logger: false,
    ...options,
    onAuth: ({ username, password }, _session, done) =>
      password === 'right' ? done(null, { user: username }) : done(new Error('no')),
    onData(stream, session, done) {
      let text = ''
      stream.on('data', (chunk) => {
        text += chunk
      })
      stream.on('end', () => {
        const { rcptTo } = session.envelope
        const plain = text.replace(/=\r\n/g, '').replace(/=3D/g, '=')
        received.push({ to: rcptTo.map((it) => it.address), text: plain, secure: session.secure, user: session.user })
        done()
      })
    },
  })
  server.on('error', () => undefined) // a client that hangs up
  await new Promise<void>((listening) => server.listen(wanted, '127.0.0.1', listening))
  const { port } = server.server.address() as AddressInfo
  return { port, received, close: () => new Promise((closed) => server.close(closed)) }
}
