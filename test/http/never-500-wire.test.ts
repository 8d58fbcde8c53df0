import { afterEach, describe, expect, it } from 'vitest'
import { newApiKey } from '../../src/core/accounts/api-key.js'
import { call } from '../support/client.js'
import { type GivenUser, givenUser } from '../support/givens.js'
import { sendRaw } from '../support/raw-http.js'
import { expectNoTrace, expectRefusal, INTERFACES, type Interface } from '../support/refusal.js'
import { useService } from '../support/service.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000000', TRUST_PROXY: '127.0.0.1' } })

/** A request's beginning, up to where its framing headers and the blank line belong. */
const head = (of: Interface, { key }: GivenUser, method = 'POST', version = '1.1') =>
  `${method} ${INTERFACES[of]} HTTP/${version}\r\nHost: easel.test\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`

describe.each(['personal', 'create'] as const)('odd requests to the %s interface', (shape) => {
  it('a body above 64 KiB whose length is not announced is a 413', async () => {
    const owner = await givenUser(context.service.db)
    const chunk = `${(70_000).toString(16)}\r\n${'x'.repeat(70_000)}\r\n0\r\n\r\n`
    const answer = await sendRaw(context.service.url, `${head(shape, owner)}Transfer-Encoding: chunked\r\n\r\n${chunk}`)
    expectRefusal(answer, shape, 'streamed')
    expect(answer?.status).toBe(413)
    await expectNoTrace(context.service.db, owner)
  })

  it('a body that is framed wrong is refused', async () => {
    const owner = await givenUser(context.service.db)
    const frames: Record<string, string> = {
      'a chunk without a size': 'Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n',
      'a chunk of negative size': 'Transfer-Encoding: chunked\r\n\r\n-1\r\n{}\r\n0\r\n\r\n',
      'a chunk of a huge size': `Transfer-Encoding: chunked\r\n\r\n${'f'.repeat(40)}\r\n`,
      'both a length and chunks': 'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
      'two lengths': 'Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}',
      'a negative length': 'Content-Length: -2\r\n\r\n{}',
      'a length in words': 'Content-Length: two\r\n\r\n{}',
      'an unknown transfer coding': 'Transfer-Encoding: gzip\r\n\r\n{}',
      'a header without a colon': 'Nonsense\r\n\r\n{}',
      'a header with a NUL': 'X-Nonsense: a\0b\r\n\r\n',
      'a blank before the colon': 'Content-Length : 2\r\n\r\n{}',
    }
    for (const [what, frame] of Object.entries(frames)) {
      expectRefusal(await sendRaw(context.service.url, head(shape, owner) + frame), shape, what)
    }
    await expectNoTrace(context.service.db, owner)
  })

  it('an Expect header that nobody knows changes nothing', async () => {
    const owner = await givenUser(context.service.db)
    const answer = await sendRaw(
      context.service.url,
      `${head(shape, owner)}Expect: a miracle\r\nContent-Length: 2\r\n\r\n{}`,
    )
    expectRefusal(answer, shape, 'Expect')
  })

  it('HTTP/1.0 is answered, too', async () => {
    const owner = await givenUser(context.service.db)
    const answer = await sendRaw(context.service.url, `${head(shape, owner, 'POST', '1.0')}Content-Length: 2\r\n\r\n{}`)
    expectRefusal(answer, shape, 'HTTP/1.0')
    expect(answer?.status).toBe(400)
  })

  it('a request without a Host is a 400', async () => {
    const answer = await sendRaw(
      context.service.url,
      `POST ${INTERFACES[shape]} HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}`,
    )
    expectRefusal(answer, shape, 'no Host')
    expect(answer?.status).toBe(400)
  })

  it('a request with two Hosts is a 400', async () => {
    const owner = await givenUser(context.service.db)
    const answer = await sendRaw(context.service.url, `${head(shape, owner)}Host: evil.example\r\n\r\n`)
    expectRefusal(answer, shape, 'two Hosts')
    expect(answer?.status).toBe(400)
    expect(JSON.stringify(answer?.body)).toContain('more than one Host header')
  })

  it('a request with headers of more than 16 KiB is a 431', async () => {
    const owner = await givenUser(context.service.db)
    const answer = await sendRaw(context.service.url, `${head(shape, owner)}X-Long: ${'x'.repeat(20_000)}\r\n\r\n`)
    expectRefusal(answer, shape, 'long headers')
    expect(answer?.status).toBe(431)
  })

  it('a method that it does not have is a 405', async () => {
    const owner = await givenUser(context.service.db)
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'SEARCH', 'LOCK', 'M-SEARCH']) {
      const answer = await sendRaw(context.service.url, `${head(shape, owner, method)}Content-Length: 2\r\n\r\n{}`)
      expectRefusal(answer, shape, method)
      expect(answer?.status, method).toBe(405)
    }
    for (const method of ['FROB', 'post', 'G\0T']) {
      expectRefusal(await sendRaw(context.service.url, `${head(shape, owner, method)}\r\n`), shape, method)
    }
  })

  it('a path that makes no sense is refused in the interface’s shape', async () => {
    const owner = await givenUser(context.service.db)
    const base = shape === 'personal' ? '/api/v1' : '/v1'
    for (const tail of [
      '/%zz',
      '/%',
      '/generate/%zz',
      '/generate/%c0%af',
      '/%00',
      '//',
      '/../x',
      '/./',
      '/%2e%2e/',
      '/😀',
      `/${'x'.repeat(15_000)}`,
      `?${'x'.repeat(15_000)}`,
      '/images/generate/%E0%A4%A',
      ';a=b',
      '/generate;x',
      '/*',
      '/:id',
      '/__proto__',
      '/constructor',
    ]) {
      const encoded = Buffer.from(tail).toString('latin1')
      const answer = await sendRaw(
        context.service.url,
        Buffer.from(
          `GET ${base}${encoded} HTTP/1.1\r\nHost: easel.test\r\nAuthorization: Bearer ${owner.key}\r\n\r\n`,
          'latin1',
        ),
      )
      // "/api/v1;a=b" is not below the prefix, so nobody's shape but the website's.
      expectRefusal(answer, /^[/?]/.test(tail) ? shape : 'personal', tail)
    }
  })
})

describe('what is not HTTP at all', () => {
  afterEach(async () => {
    expect(await call(context.service.url, 'GET', '/health')).toMatchObject({ status: 200 })
  })

  it.each([
    ['noise', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['words', 'hello?\r\n\r\n'],
    ['HTTP/2 without asking', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['HTTP/9.9', 'GET / HTTP/9.9\r\n\r\n'],
    ['a request line without a path', 'GET\r\n\r\n'],
    ['a request line without a version', 'GET /health\r\n\r\n'],
    ['a request line without a version, and a Host', 'GET /health\r\nHost: easel.test\r\n\r\n'],
    ['NULs', '\0'.repeat(100)],
  ])('is a 400: %s', async (_name, bytes) => {
    const answer = await sendRaw(context.service.url, Buffer.from(bytes, 'latin1'))
    expectRefusal(answer, 'personal', bytes)
    expect(answer?.status).toBe(400)
  })

  it('requests to a proxy or for a tunnel are refused', async () => {
    const { url } = context.service
    expectRefusal(
      await sendRaw(url, 'GET http://evil.example/x HTTP/1.1\r\nHost: evil.example\r\n\r\n'),
      'personal',
      'absolute form',
    )
    // Which asks for no page: what the server can do.
    expect((await sendRaw(url, 'OPTIONS * HTTP/1.1\r\nHost: easel.test\r\n\r\n'))?.status).toBe(204)
    const tunnel = await sendRaw(url, 'CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n')
    expectRefusal(tunnel, 'personal', 'CONNECT')
    expect([tunnel?.status, tunnel?.headers.get('connection')]).toEqual([400, 'close'])
    const upgrade = 'GET /nothing HTTP/1.1\r\nHost: easel.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
    expectRefusal(await sendRaw(url, upgrade), 'personal', 'Upgrade')
  })

  it('a forwarded address that is none does no harm', async () => {
    const addresses = ['', 'x', "'", '1.2.3', '999.1.1.1', '::::', 'x'.repeat(8000), ',,,', 'fe80::1%eth0', '127.0.0.1']
    for (const address of addresses) {
      // A guess, which is counted for the address.
      const options = { key: newApiKey('easel'), headers: { 'x-forwarded-for': address } }
      expectRefusal(await call(context.service.url, 'GET', '/api/v1/account', options), 'personal', address)
    }
  })
})
