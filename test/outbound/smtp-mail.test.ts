import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { MailRefused } from '../../src/core/accounts/account-mails.js'
import { mailServerProblem, senderAt, smtpMail } from '../../src/outbound/smtp-mail.js'
import { makeCertificate } from '../support/certificates.js'
import { freePort } from '../support/free-port.js'
import { startMailbox } from '../support/mailbox.js'

const MAIL = { to: 'alice@mail.test', subject: 'Hello', text: 'Hello.\n' }
const senderFrom = (address: string) => ({ name: 'Easel', address })
const FROM = senderFrom('hello@mail.example.test')

async function givenMailbox(options: Parameters<typeof startMailbox>[0] = {}) {
  const box = await startMailbox(options)
  onTestFinished(() => box.close())
  return box
}

const attempt = (scheme: string, port: number, query = '', host = 'easel.example.test', from = FROM) =>
  smtpMail(`${scheme}://${query.includes('user') ? 'alice:right@' : ''}127.0.0.1:${port}${query}`, from, host)(MAIL)

/** Why it failed, for the operator. */
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail('it was sent'),
    (error: Error) => error.message.replace('the mail server did not take it: ', ''),
  )

describe('the mail server', () => {
  it('is spoken to over TLS, from the start or with STARTTLS, and must prove who it is', async () => {
    const starttls = await givenMailbox({ disabledCommands: ['AUTH'] })
    const implicit = await givenMailbox({ secure: true, disabledCommands: ['AUTH'] })
    await attempt('smtp', starttls.port, '?tls.rejectUnauthorized=false')
    await attempt('smtps', implicit.port, '?tls.rejectUnauthorized=false')
    await failureOf(attempt('smtp', starttls.port))
    await failureOf(attempt('smtps', implicit.port))
    for (const { received } of [starttls, implicit]) expect(received).toMatchObject([{ secure: true, to: [MAIL.to] }])
  })

  it('of one’s own network may do without, where it has a certificate that nobody can check', async () => {
    const box = await givenMailbox({ disabledCommands: ['AUTH'] })
    expect(await failureOf(attempt('smtp', box.port))).toContain('add ?ignoreTLS=true')
    await attempt('smtp', box.port, '?ignoreTLS=true')
    expect(box.received).toMatchObject([{ secure: false, to: [MAIL.to] }])
  })

  it('gets a password over TLS only', async () => {
    const encrypted = await givenMailbox({ disabledCommands: [] })
    const clear = await givenMailbox({ disabledCommands: ['STARTTLS'], allowInsecureAuth: true })
    await attempt('smtp', encrypted.port, '?tls.rejectUnauthorized=false&user')
    expect(encrypted.received).toMatchObject([{ secure: true, user: 'alice' }])
    expect(await failureOf(attempt('smtp', clear.port, '?user'))).toContain('it offers no TLS')
    expect(clear.received).toEqual([])
  })
})

describe('what the server says no to', () => {
  it.each([
    [450, false],
    [451, false],
    [550, true],
    [553, true],
  ])('with %i is refused for good: %s', async (responseCode, isRefused) => {
    const box = await givenMailbox({
      onRcptTo: (_address, _session, done) => done(Object.assign(new Error('No'), { responseCode })),
    })
    const error = await attempt('smtp', box.port).catch((it: unknown) => it)
    expect(error).toBeInstanceOf(Error)
    expect(error instanceof MailRefused).toBe(isRefused)
  })

  it('where it cannot be reached, nothing is refused', async () => {
    const error = await attempt('smtp', await freePort()).catch((it: unknown) => it)
    expect(error).toBeInstanceOf(Error)
    expect(error).not.toBeInstanceOf(MailRefused)
  })
})

describe('what we say of ourselves', () => {
  /** The names in EHLO; the stand-in writes them in lower case. */
  async function introducedBy(host: string, from = FROM, query = '') {
    const names = new Set<string>()
    const box = await givenMailbox({
      disabledCommands: ['AUTH', 'STARTTLS'],
      onMailFrom: (_address, session, done) => {
        names.add(session.hostNameAppearsAs as string)
        done()
      },
    })
    await smtpMail(`smtp://127.0.0.1:${box.port}${query}`, from, host)(MAIL)
    return { names: [...names], text: box.received[0]?.text ?? '' }
  }

  it.each<[string, string, typeof FROM, string]>([
    ['the host of the website', 'easel.example.test', FROM, 'easel.example.test'],
    ['a name in Unicode as ASCII', new URL('https://bücher.example').hostname, FROM, 'xn--bcher-kva.example'],
    ['the sender’s domain where the website has none', 'localhost', FROM, 'mail.example.test'],
    ['the sender’s domain where the website has an address', '192.0.2.7', FROM, 'mail.example.test'],
    ['the sender’s domain as ASCII', 'easel', senderFrom('a@bücher.example'), 'xn--bcher-kva.example'],
    ['the address of the website as SMTP writes it', '192.0.2.7', senderFrom('a@localhost'), '[192.0.2.7]'],
    ['its IPv6 address, too', '[2001:db8::7]', senderFrom('a@localhost'), '[ipv6:2001:db8::7]'],
  ])('is %s', async (_what, host, from, name) => {
    expect((await introducedBy(host, from)).names).toEqual([name])
  })

  it('is what the operator says in SMTP_URL', async () => {
    expect((await introducedBy('easel.example.test', FROM, '?name=relay.example.test')).names).toEqual([
      'relay.example.test',
    ])
  })

  it('is no name of this machine, nor 127.0.0.1, in what the mail itself says', async () => {
    const { text } = await introducedBy('easel.example.test', senderAt('Easel', 'easel.example.test'))
    expect(text).toMatch(/^From: Easel <no-reply@easel\.example\.test>\r$/m)
    expect(text).toMatch(/^Message-ID: <[^<>@\s]+@easel\.example\.test>\r$/m)
    expect(text).toMatch(/^Date: \w{3}, \d\d \w{3} \d{4} [\d:]{8} \+0000\r$/m)
    expect(text).toMatch(/^Auto-Submitted: auto-generated\r$/m)
    expect(text).not.toMatch(/127\.0\.0\.1|List-Unsubscribe/)
  })

  it('may have a name with signs that mean something in a header', async () => {
    const { text } = await introducedBy('easel.example.test', { ...FROM, name: 'Team: Easel, Inc. (Beta)' })
    expect(text).toMatch(/^From: "Team: Easel, Inc\. \(Beta\)" <hello@mail\.example\.test>\r$/m)
  })

  it('names the sender of an installation without a domain as SMTP writes addresses', () => {
    expect(senderAt('Easel', '192.0.2.7').address).toBe('no-reply@[192.0.2.7]')
    expect(senderAt('Easel', '[::1]').address).toBe('no-reply@[IPv6:::1]')
  })

  it('tells where mails that can be turned off are turned off', async () => {
    const box = await givenMailbox()
    const send = smtpMail(`smtp://127.0.0.1:${box.port}`, FROM, 'easel.example.test')
    await send({ ...MAIL, unsubscribeUrl: 'https://easel.example.test/account#mails' })
    expect(box.received[0]?.text).toContain('List-Unsubscribe: <https://easel.example.test/account#mails>')
  })
})

describe('why a mail was not sent is said with what to correct', () => {
  const TRUST = 'NODE_EXTRA_CA_CERTS'
  const PORT = 'SMTP_URL must begin with smtps:// for a port that speaks TLS from the start'
  const HOST = 'correct host and port in SMTP_URL'

  it('of certificates: made by itself, expired, of another host', async () => {
    const trusted = await makeCertificate('ca.test')
    const certificates = [
      [await makeCertificate('127.0.0.1'), /self.signed certificate/],
      [await makeCertificate('127.0.0.1', { days: [-9, -1], by: trusted }), /expired|unable to (get|verify)/],
      [await makeCertificate('other.test', { by: trusted }), /altnames|unable to (get|verify)/],
    ] as const
    for (const [certificate, words] of certificates)
      for (const secure of [true, false]) {
        const { port } = await givenMailbox({ ...certificate, secure, disabledCommands: ['AUTH'] })
        const scheme = secure ? 'smtps' : 'smtp'
        const message = await failureOf(attempt(scheme, port))
        expect(message).toMatch(words)
        expect(message).toContain(TRUST)
        expect(await mailServerProblem(`${scheme}://127.0.0.1:${port}`, FROM, 'a.test')).toMatch(words)
      }
  })

  it('of a certificate that has expired, and of one of another host, where their issuer is known', async () => {
    const ca = await makeCertificate('ca.test')
    const tried = async (host: string, days?: readonly [number, number]) => {
      const certificate = await makeCertificate(host, { by: ca, ...(days && { days }) })
      const { port } = await givenMailbox({ ...certificate, secure: true, disabledCommands: ['AUTH'] })
      return failureOf(attempt('smtps', port, `?tls.ca=${encodeURIComponent(ca.cert)}`))
    }
    expect(await tried('127.0.0.1', [-9, -1])).toContain('certificate has expired (CERT_HAS_EXPIRED)')
    expect(await tried('other.test')).toMatch(/altnames.*ERR_TLS_CERT_ALTNAME_INVALID/)
  })

  it('of a port that nobody listens on, and of a name that nobody knows', async () => {
    const port = await freePort()
    expect(await failureOf(attempt('smtp', port))).toMatch(/^connect ECONNREFUSED 127\.0\.0\.1:\d+: /)
    expect(await mailServerProblem(`smtp://127.0.0.1:${port}`, FROM, 'a.test')).toContain(HOST)
    const unknown = await failureOf(smtpMail('smtp://mail.invalid', FROM)(MAIL))
    expect(unknown).toContain('mail.invalid')
    expect(unknown).toContain(HOST)
  })

  it('of TLS where there is none', async () => {
    const { port } = await givenMailbox()
    expect(await failureOf(attempt('smtps', port))).toContain(PORT)
  })

  it.each([
    '553 5.7.1 <hello@mail.example.test>: Sender address rejected: not owned by user alice',
    '554 5.2.252 SendAsDenied; alice@mail.example.test not allowed to send as hello@mail.example.test',
    '554 Message rejected: Email address is not verified. The following identities failed the check',
  ])('of a sender that it looks at late: %s', async (reply) => {
    const [code = '', ...words] = reply.split(' ')
    const error = Object.assign(new Error(words.join(' ')), { responseCode: Number(code) })
    const { port } = await givenMailbox({ onRcptTo: (_address, _session, done) => done(error) })
    expect(await failureOf(attempt('smtp', port, '?ignoreTLS=true'))).toContain('MAIL_FROM must be an address')
  })

  it('of a server that hangs up', async () => {
    const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const message = await failureOf(attempt('smtp', (server.address() as AddressInfo).port))
    expect(message).toMatch(/closed|ECONNRESET/)
  })

  it('of the name that it was told', async () => {
    const { port } = await givenMailbox({
      onMailFrom: (_address, _session, done) =>
        done(
          Object.assign(new Error('<easel.example.test>: Helo command rejected: Host not found'), {
            responseCode: 450,
          }),
        ),
    })
    const message = await failureOf(attempt('smtp', port))
    expect(message).toContain('Helo command rejected: Host not found')
    expect(message).toContain(
      'it was told the name easel.example.test; if it wants another, add ?name=HOST to SMTP_URL',
    )
  })

  it('of a wrong password', async () => {
    const { port } = await givenMailbox({ disabledCommands: [] })
    const url = `smtp://alice:wrong@127.0.0.1:${port}?tls.rejectUnauthorized=false`
    const message = await failureOf(smtpMail(url, FROM)(MAIL))
    expect(message).toContain('correct user and password in SMTP_URL')
    expect(message).not.toContain('wrong@')
    expect(await mailServerProblem(url, FROM, 'a.test')).toContain('correct user and password in SMTP_URL')
  })

  it('of a sender that may not send', async () => {
    const { port } = await givenMailbox({
      onMailFrom: (_address, _session, done) => done(Object.assign(new Error('not allowed'), { responseCode: 553 })),
    })
    expect(await failureOf(attempt('smtp', port))).toBe(
      '"553 not allowed" at MAIL FROM: MAIL_FROM must be an address that it lets us send from',
    )
  })

  it('without the recipient, their name and the links, which the server may repeat', async () => {
    const { port } = await givenMailbox({
      onRcptTo: ({ address }, _session, done) =>
        done(
          Object.assign(new Error(`<${address}> alice: unknown, see https://mail.test/?u=1`), { responseCode: 550 }),
        ),
    })
    expect(await failureOf(attempt('smtp', port))).toBe('"550 <…> …: unknown, see …" at RCPT TO')
  })

  it('nothing is said to be wrong of a server that is right', async () => {
    const { port } = await givenMailbox()
    expect(await mailServerProblem(`smtp://127.0.0.1:${port}`, FROM, 'a.test')).toBeUndefined()
  })
})
