import { once } from 'node:events'
import { connect } from 'node:net'
import { request } from 'undici'
import { describe, expect, it } from 'vitest'
import { causesOf, codesOf, isTlsFailure, isUnreached, reasonOf } from '../../src/lib/causes.js'
import { freePort } from '../support/free-port.js'

const coded = (code: string, message: string, more: object = {}) => Object.assign(new Error(message), { code, ...more })
const REFUSED = coded('ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:1', { syscall: 'connect' })
const UNREACHABLE = coded('ENETUNREACH', 'connect ENETUNREACH ::1:1', { syscall: 'connect' })

/** What Node throws for a name with several addresses of which none can be reached: its own message is empty. */
const ofBothAddresses = Object.assign(new AggregateError([UNREACHABLE, REFUSED]), { code: 'ENETUNREACH' })

describe('the reason of a failure', () => {
  it.each([
    ['of one error', REFUSED, 'connect ECONNREFUSED 127.0.0.1:1'],
    ['of a cause', new TypeError('fetch failed', { cause: REFUSED }), 'connect ECONNREFUSED 127.0.0.1:1'],
    ['of several addresses', ofBothAddresses, 'connect ENETUNREACH ::1:1; connect ECONNREFUSED 127.0.0.1:1'],
    [
      'of several addresses behind a cause',
      new TypeError('fetch failed', { cause: ofBothAddresses }),
      'connect ENETUNREACH ::1:1; connect ECONNREFUSED 127.0.0.1:1',
    ],
    ['that two errors give, once', new AggregateError([REFUSED, REFUSED]), 'connect ECONNREFUSED 127.0.0.1:1'],
    ['with the code that its message lacks', coded('CERT_HAS_EXPIRED', 'expired'), 'expired (CERT_HAS_EXPIRED)'],
    ['without a SQLSTATE', coded('28P01', 'wrong password'), 'wrong password'],
    ['of an error without a message', coded('ETIMEDOUT', ''), 'ETIMEDOUT'],
    ['of an error whose cause says nothing', new Error('it ended', { cause: new Error('') }), 'it ended'],
    ['of a list of errors that say nothing', new AggregateError([new Error(''), new Error('')]), 'no reason was given'],
    [
      'of an error of a class of its own',
      new (class extends Error {
        override name = 'StoreGone'
      })(''),
      'StoreGone',
    ],
    ['in a string', 'it is closed', 'it is closed'],
    ['of nothing', undefined, 'no reason was given'],
    ['of null', null, 'no reason was given'],
    ['of an object', {}, 'no reason was given'],
    [
      'of what only looks like an error',
      { message: 'socket hang up', code: 'ECONNRESET' },
      'socket hang up (ECONNRESET)',
    ],
    [
      'of an error that Stripe has kept',
      Object.assign(new Error('no connection'), { detail: REFUSED }),
      REFUSED.message,
    ],
    ['of the last node of a cluster', Object.assign(new Error('failed'), { lastNodeError: REFUSED }), REFUSED.message],
    ['of an event', { type: 'error', message: 'x', error: REFUSED }, REFUSED.message],
    ['on one line', new Error('550 no\r\n550\u2028  such box\0'), '550 no 550 such box'],
  ])('%s', (_, thrown, reason) => {
    expect(reasonOf(thrown)).toBe(reason)
  })

  it('is short, however much the other side wrote', () => {
    expect([...reasonOf(new Error(`a${' '.repeat(1e6)}${'b'.repeat(1e6)}`))].length).toBeLessThan(310)
    expect([...reasonOf(new AggregateError(Array.from({ length: 1000 }, (_, i) => new Error(`no ${i}`))))].length).toBe(
      301,
    )
  })

  it('is found in errors that cause each other', () => {
    const first = new Error('first')
    const second = new Error('second', { cause: first })
    first.cause = second
    expect(reasonOf(first)).toBe('second')
    const own: Error = new Error('own')
    own.cause = own
    expect(reasonOf(own)).toBe('own')
  })

  it('is found however deep it lies', () => {
    let error: Error = REFUSED
    for (let i = 0; i < 20; i++) error = new Error('wrapped', { cause: error })
    expect(reasonOf(error)).toBe(REFUSED.message)
  })
})

describe('what happened', () => {
  it('is said by any of the codes', () => {
    expect(codesOf(new TypeError('fetch failed', { cause: ofBothAddresses }))).toEqual([
      'ENETUNREACH',
      'ENETUNREACH',
      'ECONNREFUSED',
    ])
    expect(causesOf('gone')).toEqual([{ name: '', code: undefined, message: 'gone', thrown: 'gone' }])
  })

  it.each([
    ['a refused connection', REFUSED],
    ['several addresses', ofBothAddresses],
    ['a socket file that is not there', coded('ENOENT', 'connect ENOENT /run/x', { syscall: 'connect' })],
    ['a name that does not resolve', coded('EAI_AGAIN', 'getaddrinfo EAI_AGAIN db')],
    ['undici', coded('UND_ERR_CONNECT_TIMEOUT', 'Connect Timeout Error')],
  ])('is that nothing was reached: %s', (_, thrown) => {
    expect(isUnreached(thrown)).toBe(true)
    expect(isTlsFailure(thrown)).toBe(false)
  })

  it.each([coded('ECONNRESET', 'read ECONNRESET'), new Error('no'), undefined, 'ECONNREFUSED'])(
    'is something else: %s',
    (thrown) => {
      expect(isUnreached(thrown)).toBe(false)
    },
  )

  it('is that TLS failed, behind a cause, too', () => {
    expect(isTlsFailure(new Error('no', { cause: coded('CERT_HAS_EXPIRED', 'certificate has expired') }))).toBe(true)
  })

  it('is told of the real errors of a name with two addresses', async () => {
    const port = await freePort()
    const socket = connect({
      host: 'two.example',
      port,
      lookup: (_host, _options, found) =>
        found(null, [
          { address: '::1', family: 6 },
          { address: '127.0.0.1', family: 4 },
        ]),
    })
    const [error] = await once(socket, 'error')
    expect((error as Error).message).toBe('')
    expect(reasonOf(error)).toMatch(new RegExp(`^connect \\w+ ::1:${port}.*; connect ECONNREFUSED 127.0.0.1:${port}$`))
    expect(isUnreached(error)).toBe(true)
    const refused = await request(`http://127.0.0.1:${port}`).catch((thrown) => thrown)
    expect(reasonOf(refused)).toBe(`connect ECONNREFUSED 127.0.0.1:${port}`)
  })
})
