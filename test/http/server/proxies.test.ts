/** What a proxy in front meets, and what the log says of one that is set up wrongly. */
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { describe, expect, it, onTestFinished } from 'vitest'
import { buildBareApp } from '../../support/bare-app.js'
import { call } from '../../support/client.js'
import { sendRaw } from '../../support/raw-http.js'
import { until } from '../../support/until.js'

async function givenServer(trustedProxies: readonly string[] = [], baseUrl = 'https://easel.test') {
  const lines: string[] = []
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk))
      done()
    },
  })
  const app = await buildBareApp({ log: pino({ level: 'warn' }, stream), trustedProxies, baseUrl })
  const sockets: Socket[] = []
  app.server.on('connection', (socket: Socket) => sockets.push(socket))
  await app.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(() => app.close())
  const warnings = () => lines.map((line) => JSON.parse(line) as { readonly msg: string })
  return { app, url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`, sockets, warnings }
}

const OF_PROXY = { 'x-forwarded-for': '203.0.113.7' }

describe('a proxy that TRUST_PROXY does not name', () => {
  it('is told of once', async () => {
    const { url, warnings } = await givenServer(['10.0.0.0/8'])
    await call(url, 'GET', '/health')
    expect(warnings()).toEqual([])
    for (let n = 0; n < 3; n++) await call(url, 'GET', '/health', { headers: OF_PROXY })
    expect(warnings()).toMatchObject([
      {
        address: '127.0.0.1',
        msg: 'all who come through this proxy count as one for every limit: name it in TRUST_PROXY',
      },
    ])
  })

  it('that it names is told of only if it does not say who its clients are', async () => {
    const { url, warnings } = await givenServer(['127.0.0.0/8'])
    await call(url, 'GET', '/health', { headers: OF_PROXY })
    expect(warnings()).toEqual([])
    for (const headers of [{ 'x-real-ip': '203.0.113.7' }, { forwarded: 'for=203.0.113.7' }])
      await call(url, 'GET', '/health', { headers })
    expect(warnings()).toMatchObject([
      { msg: 'all who come through this proxy count as one for every limit: let it send X-Forwarded-For' },
    ])
  })
})

describe('a BASE_URL that leads to this machine', () => {
  const ask = (url: string, path: string, host: string) =>
    sendRaw(url, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)

  it('is told of once when people use another name', async () => {
    const { url, warnings } = await givenServer([], 'http://localhost:3000')
    for (const host of ['localhost:3000', '127.0.0.1', '[::1]:3000']) await ask(url, '/nothing', host)
    await ask(url, '/ready', '10.1.2.3:3000')
    expect(warnings()).toEqual([])
    for (let n = 0; n < 2; n++) await ask(url, '/nothing', 'pictures.example')
    expect(warnings()).toMatchObject([{ host: 'pictures.example', baseUrl: 'http://localhost:3000' }])
  })

  it('is all right where it is another one', async () => {
    const { url, warnings } = await givenServer()
    await ask(url, '/nothing', 'pictures.example')
    expect(warnings()).toEqual([])
  })
})

it.each<[readonly string[], number]>([
  [['127.0.0.1'], 620_000],
  [[], 65_000],
])('an idle connection of a proxy is kept longer than the proxy keeps it: %j', async (trusted, ms) => {
  const { url, sockets } = await givenServer(trusted)
  const client = connect(Number(new URL(url).port), '127.0.0.1')
  onTestFinished(() => void client.destroy())
  for (let n = 0; n < 2; n++) {
    client.write('GET /health HTTP/1.1\r\nHost: easel.test\r\n\r\n')
    await once(client, 'data')
    await until(() => (sockets[0]?.timeout ?? 0) >= ms && (sockets[0]?.timeout ?? 0) <= ms + 1000, 'its limit')
  }
})

it.each([
  [
    'PROXY TCP4 203.0.113.7 10.0.0.1 56324 443\r\nGET / HTTP/1.1\r\nHost: easel.test\r\n\r\n',
    /takes no PROXY protocol/,
  ],
  ['\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x7f\0\0\x01\x7f\0\0\x01\x1f\x90\x0b\xb8', /takes no PROXY protocol/],
  ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', /speaks HTTP\/1\.1 only/],
  ['\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03', /speaks no TLS itself/],
])('another protocol than ours is told of, to its sender and in the log: %j', async (bytes, sentence) => {
  const { url, warnings } = await givenServer()
  const answer = await sendRaw(url, Buffer.from(bytes, 'latin1'))
  expect(answer?.status).toBe(400)
  expect(JSON.stringify(answer?.body)).toMatch(sentence)
  expect(warnings()).toMatchObject([{ msg: expect.stringMatching(sentence) }])
})

it('a connection that was opened in advance ends without an answer that nobody asked for', async () => {
  const { app, url } = await givenServer()
  const client = connect(Number(new URL(url).port), '127.0.0.1')
  onTestFinished(() => void client.destroy())
  const received: Buffer[] = []
  client.on('data', (chunk) => received.push(chunk))
  const [socket] = (await once(app.server, 'connection')) as [Socket]
  app.server.emit('clientError', Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), socket)
  await once(client, 'close')
  expect(received).toEqual([])
})
