/** Caddy with our Caddyfile, in front of two real servers. */
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseConfig } from '../../src/process/config.js'
import { balancedClient } from '../programs/chaos/balanced-client.js'
import { Fleet } from '../programs/chaos/rolling-fleet.js'
import { RollingLoad, unexpected } from '../programs/chaos/rolling-load.js'
import { startWatchdog, type Watchdog } from '../programs/chaos/watchdog.js'
import { startCaddy } from '../support/caddy.js'
import { useDatabase } from '../support/database.js'
import { freePort } from '../support/free-port.js'
import { type GivenUser, givenUser } from '../support/givens.js'
import { findCaddy } from '../support/programs.js'
import { redisAvailable, redisUrl } from '../support/services.js'
import { startSwitchableServer } from '../support/switchable-server.js'
import { until } from '../support/until.js'

const directory = await mkdtemp(join(tmpdir(), 'easel-proxy-'))
afterAll(() => rm(directory, { recursive: true, force: true }))
const program = await findCaddy(directory)

describe.skipIf(!program)('the proxy of compose, with servers of which none is ready', () => {
  it('passes a request on, body and all, to the one that lives', async () => {
    const asked: string[] = []
    const alive = await startSwitchableServer(async (request, response) => {
      const body = await text(request)
      asked.push(`${request.method} ${request.url}`)
      response.writeHead(request.url === '/ready' ? 503 : 200).end(body)
    })
    const caddy = await startCaddy(program as string, directory, [`http://127.0.0.1:${await freePort()}`, alive.url])
    try {
      const checks = (path: string) => asked.filter((it) => it === `GET ${path}`).length
      await until(() => checks('/ready') >= 4 && checks('/health') >= 4, 'checks of health')
      for (let n = 0; n < 6; n++) {
        const answer = await fetch(`${caddy.url}/api/v1/generate`, { method: 'POST', body: `idea ${n}` })
        expect([answer.status, await answer.text()]).toEqual([200, `idea ${n}`])
      }
    } finally {
      await caddy.stop()
      await alive.refuse()
    }
  })
})

describe.skipIf(!program)('the proxy of compose, with images on its disk', () => {
  it('lets a server answer for what the disk does not give, so that no error is kept like an image', async () => {
    const images = join(directory, 'on-disk')
    await mkdir(images)
    const [readable, unreadable] = ['a', 'b'].map((letter) => `${letter.repeat(22)}.png`) as [string, string]
    for (const file of [readable, unreadable]) await writeFile(join(images, file), 'a file')
    await chmod(join(images, unreadable), 0)
    const server = await startSwitchableServer(async (request, response) => {
      response.setHeader('cache-control', 'no-store').end(`the server's ${request.url}`)
    })
    const caddy = await startCaddy(program as string, directory, [server.url, server.url], images)
    const kept = async (file: string, headers: Record<string, string> = {}) => {
      const answer = await fetch(`${caddy.url}/cdn/${file}`, { headers })
      return [await answer.text(), answer.headers.get('cache-control'), answer.headers.get('retry-after')]
    }
    try {
      expect(await kept(readable)).toEqual(['a file', 'public, max-age=31536000, immutable', null])
      const servers = (file: string) => [`the server's /cdn/${file}`, 'no-store', null]
      expect(await kept(unreadable)).toEqual(servers(unreadable))
      // Of what the disk would answer with 412 or 416.
      for (const headers of [
        { 'if-match': '"x"' },
        { 'if-unmodified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' },
        { range: 'bytes=100-' },
      ])
        expect(await kept(readable, headers)).toEqual(servers(readable))
    } finally {
      await caddy.stop()
      await server.refuse()
    }
  })
})

const OTHERS = 30
const STREAMS = 5

describe.skipIf(!program || !redisAvailable)('the proxy of compose', () => {
  const database = useDatabase()
  /** Asks each server whether it is ready; requests go through the proxy. */
  const direct = balancedClient()
  const proxied = balancedClient('/health')
  const urls: string[] = []
  let caddy: Awaited<ReturnType<typeof startCaddy>>
  let watchdog: Watchdog
  let fleet: Fleet
  let user: GivenUser

  beforeAll(async () => {
    watchdog = startWatchdog(directory)
    const config = parseConfig({
      DATABASE_URL: database.url,
      REDIS_URL: await redisUrl(),
      STORAGE_URL: `file:${directory}/images`,
      BASE_URL: 'http://easel.test',
      RATE_LIMIT_MAX: '100000',
    })
    const join = (url: string) => {
      urls.push(url)
      direct.join(url)
    }
    const client = { ...direct, join }
    fleet = new Fleet({ config, client, watchdog, gpus: ['preview:'], env: { TRUST_PROXY: '127.0.0.1/32' } })
    await fleet.start(2)
    caddy = await startCaddy(program as string, directory, urls as [string, string])
    proxied.join(caddy.url)
    await until(() => proxied.isReady(caddy.url), 'the proxy being ready')
    user = await givenUser(database.db)
  })
  afterAll(async () => {
    direct.close()
    proxied.close()
    await fleet?.kill()
    await caddy?.stop()
    watchdog?.dismiss()
  })

  /** Resolves when the connection has ended: by the proxy with its answer, or by `hangUp` once all is sent. */
  const send = (line: string, headers: readonly string[], body: string, hangUp?: 'end' | 'reset') =>
    new Promise<void>((resolve) => {
      const socket = connect(caddy.port, '127.0.0.1')
      const lines = [`${line} HTTP/1.1`, `Host: 127.0.0.1:${caddy.port}`, ...headers]
      socket.on('error', () => undefined).on('close', () => resolve())
      socket.on('data', () => socket.destroy())
      socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`, () => {
        // What was sent should be on its way to a server.
        if (hangUp) setTimeout(() => (hangUp === 'end' ? socket.destroy() : socket.resetAndDestroy()), 20)
      })
    })
  /** Several requests over one connection, which then ends. */
  const sendHttp2 = (act: (session: ClientHttp2Session, n: number) => void) =>
    new Promise<void>((resolve) => {
      const session = connectHttp2(caddy.url)
      session.on('error', () => undefined).on('close', () => resolve())
      session.on('connect', () => {
        for (let n = 0; n < STREAMS; n++) act(session, n)
        setTimeout(() => session.destroy(), 100)
      })
    })
  const stream = (session: ClientHttp2Session, headers: Record<string, string>) =>
    session.request({ ':method': 'POST', ':path': '/sign-in', 'content-type': FORM, ...headers }).on('error', () => {})

  const FORM = 'application/x-www-form-urlencoded'
  const form = [`Content-Type: ${FORM}`]
  const chunked = [...form, 'Transfer-Encoding: chunked']
  const key = () => [`Authorization: Bearer ${user.key}`, 'Content-Type: application/json']
  const long = 'a'.repeat(3_000_000)

  it.each<[string, readonly (() => Promise<void>)[]]>([
    [
      'a broken chunk',
      [
        () => send('POST /api/v1/generate', chunked, 'ZZ\r\n'),
        () => send('POST /api/v1/generate', [...key(), 'Transfer-Encoding: chunked'], '5\r\n{"a":\r\nZZ\r\n'),
        () => send('POST /sign-in', chunked, '5\r\nabcdeXX'),
        () => send('GET /health', chunked, 'ZZ\r\n'),
        () => send('DELETE /nowhere', chunked, `${'f'.repeat(18)}\r\n`),
        () => send('POST /sign-in', [...chunked, 'Trailer: x'], '0\r\n\0\r\n\r\n'),
      ],
    ],
    [
      'an upload that ends too early',
      (['end', 'reset'] as const).flatMap((hangUp) => [
        () => send('POST /sign-in', [...form, 'Content-Length: 1000'], 'a=b', hangUp),
        () => send('POST /sign-in', chunked, '1\r\na', hangUp),
        () => send('POST /api/v1/generate', [...key(), 'Content-Length: 1000'], '{', hangUp),
        () => send('POST /sign-in', [...form, 'Content-Length: 5', 'Expect: 100-continue'], '', hangUp),
      ]),
    ],
    [
      'a body that is too large',
      [
        () => send('POST /sign-in', [...form, `Content-Length: ${long.length}`], long),
        () => send('POST /api/v1/generate', [...key(), `Content-Length: ${long.length}`], long),
        () => send('POST /sign-in', chunked, `${long.length.toString(16)}\r\n${long}\r\n0\r\n\r\n`),
        () => send('POST /sign-in', [...form, `Content-Length: ${2 * long.length}`], long, 'reset'),
      ],
    ],
    [
      'an answer that is not awaited',
      [
        () => send('GET /', [], '', 'reset'),
        () => send('GET /api-reference', [], 'GET /', 'end'),
        () => send('GET /api/v1/events', key(), '', 'reset'),
      ],
    ],
    [
      'a request that no server takes',
      [
        () => send('GET /health', [`X: ${'x'.repeat(40_000)}`], ''),
        () => send('GET /health', ['X: \x80\xff'], ''),
        () => send('GET /%00%zz', [], ''),
        () => send('UNKNOWN /', [], ''),
        () => send('TRACE /', [], ''),
        () => send('GET /', ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'], ''),
      ],
    ],
    [
      'HTTP/2 streams that are reset or broken',
      [
        () =>
          sendHttp2((session, n) => {
            const upload = stream(session, {})
            upload.write('a=b')
            setTimeout(() => upload.close(n % (constants.NGHTTP2_HTTP_1_1_REQUIRED + 1)), 5 * n)
          }),
        () =>
          sendHttp2((session, n) => {
            const read = session.request({ ':path': '/' }).on('error', () => undefined)
            setTimeout(() => read.close(constants.NGHTTP2_CANCEL), n)
          }),
        () => sendHttp2((session) => stream(session, { 'content-length': '100' }).end('a=b')),
        () => sendHttp2((session) => stream(session, { 'content-length': '1' }).end('a=bcde')),
        () =>
          sendHttp2((session, n) => {
            stream(session, {}).write('a')
            setTimeout(() => session.destroy(), 5 * n)
          }),
      ],
    ],
  ])('takes no server for dead because of %s', async (_kind, ways) => {
    let done = false
    const attacking = ways.map(async (attack) => {
      // A few times a second: this is not about load.
      for (; !done; await delay(100)) await attack()
    })
    await Promise.all(ways.map((attack) => attack()))
    const asked = [
      { method: 'GET', path: '/health' },
      { method: 'GET', path: '/api/v1/account', key: user.key },
      { method: 'POST', path: '/api/v1/generate', key: user.key, body: {} },
    ] as const
    const got: unknown[] = []
    while (got.length < OTHERS) for (const each of asked) got.push((await proxied.send(each)).got)
    done = true
    await Promise.all(attacking)
    expect(got).toEqual(
      Array(OTHERS / asked.length)
        .fill([200, 200, 400])
        .flat(),
    )
  })

  it('gives out the images that lie in the directory itself, and nothing below private/', async () => {
    const [slug, folder] = ['a'.repeat(22), 'f'.repeat(32)]
    const images = `${directory}/images`
    await mkdir(`${images}/private/${folder}`, { recursive: true })
    for (const at of ['', `private/`, `private/${folder}/`]) await writeFile(`${images}/${at}${slug}.png`, 'a file')
    const statusOf = async (path: string) => (await fetch(caddy.url + path, { redirect: 'manual' })).status
    const keptAs = async (path: string) => {
      const { status, headers } = await fetch(`${caddy.url}/cdn/${path}`)
      return [status, headers.get('cache-control')]
    }
    expect(await keptAs(`${slug}.png`)).toEqual([200, 'public, max-age=31536000, immutable'])
    for (const other of [`${slug}.png?x=1`, `%61${slug.slice(1)}.png`])
      expect([other, ...(await keptAs(other))]).toEqual([other, 200, 'private, no-store'])
    for (const path of [
      `private/${slug}.png`,
      `private/${folder}/${slug}.png`,
      `private%2F${slug}.png`,
      'private/',
      'private',
    ])
      expect([path, await statusOf(`/cdn/${path}`)]).toEqual([path, 404])
  })

  it('loses no request while each server is restarted, as deploy/upgrade does it', async () => {
    const load = new RollingLoad(proxied)
    const users = await Promise.all(Array.from({ length: 4 }, () => givenUser(database.db, { credits: 10_000 })))
    const lives = Promise.all(users.map((it, n) => (n < 1 ? load.createImage(it) : load.submitAndPoll(it))))
    lives.catch(() => undefined) // awaited below
    const before = proxied.exchanges.length
    await until(() => load.delivered >= 5, 'load before the first restart')
    for (const server of [0, 1, 0, 1]) {
      const host = new URL(urls[server] as string).host
      const returns = caddy.returns(host)
      await fleet.restartServer(server)
      await until(() => caddy.returns(host) > returns, `the proxy asking ${host} again`)
    }
    const delivered = load.delivered
    await until(() => load.delivered >= delivered + 5, 'load after the last restart')
    load.stopping = true
    await lives
    const lost = unexpected(proxied.exchanges.slice(before))
    expect(lost, [...lost, ...caddy.complaints()].join('\n')).toEqual([])
    expect((await fleet.ends()).map(({ how }) => how)).toEqual([0, 0, 0, 0])
  })
})
