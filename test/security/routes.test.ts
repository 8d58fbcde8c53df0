import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { imageLinks } from '../../src/core/images/image-links.js'
import { imageSecret } from '../../src/db/images/privacy.js'
import { buildBareApp } from '../support/bare-app.js'
import { expectDescribed } from '../support/described.js'
import { memoryPayments } from '../support/memory-payments.js'
import { CLIENT, type OidcServer, startOidc } from '../support/oidc-server.js'
import { type S3Server, startS3 } from '../support/s3-server.js'
import { useService } from '../support/service.js'
import { type Caller, type Callers, givenCallers, type Headers } from './access/callers.js'
import { DOORS, type Door, type DoorRule, isSignedIn, type Outcome, SIGN_IN } from './access/doors.js'
import { ACCESS, type Row, type Sent } from './access/table.js'
import { type GivenThing, givenThing, type Thing } from './access/things.js'

/** What pages load. */
const isAsset = (path: string) => /^\/assets\/[a-z-]+\.[\w-]{12}\.(css|js|svg)$/.test(path)

/** Every route of a server that has everything turned on, as it registers them: its method and its path. */
async function registeredRoutes(): Promise<string[]> {
  const routes: string[] = []
  const nothing: never = new Proxy(() => undefined, { get: () => nothing }) as never
  const app = await buildBareApp({
    observe: (app) =>
      void app.addHook('onRoute', ({ method, url }) => {
        for (const one of [method].flat()) if (!isAsset(url)) routes.push(`${one} ${url}`)
      }),
    uploads: nothing,
    billing: { provider: 'stripe', receiver: nothing },
    mcpOrigins: ['https://agents.test'],
  })
  await app.ready()
  await app.close()
  return routes
}

/** Every operation of both OpenAPI documents, as a route. */
const documentedRoutes = ['openapi.json', 'admin-openapi.json'].flatMap((file) => {
  const { paths } = JSON.parse(readFileSync(new URL(`../../docs/${file}`, import.meta.url), 'utf8'))
  return Object.entries(paths as Record<string, object>).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`),
  )
})

const rows = Object.entries(ACCESS).flatMap(([door, routes]) =>
  Object.entries(routes).map(([route, row]) => ({ door: door as Door, route, ...read(row) })),
)

function read(row: Row): { readonly status: number; readonly thing?: Thing; readonly sent: Sent } {
  if (typeof row === 'number') return { status: row, sent: {} }
  const [status, second, third = {}] = row
  return typeof second === 'string' ? { status, thing: second, sent: third } : { status, sent: second }
}

describe('the table of access', () => {
  it('has one row for each route, and each row a route', async () => {
    const routes = (await registeredRoutes()).filter((route) => !route.startsWith('HEAD '))
    expect(rows.map(({ route }) => route).sort()).toEqual(routes.sort())
  })

  it('has a row for each operation of the OpenAPI documents', () => {
    expect(documentedRoutes.length).toBeGreaterThan(60)
    expect(documentedRoutes.filter((route) => !rows.some((row) => row.route === route))).toEqual([])
  })
})

it('no row says what its door answers to others, so that a request tells who was let in', () => {
  const REFUSED: readonly Caller[] = ['nobody', 'developer', 'operator key: reads', 'in a browser: stranger']
  const unclear = rows.filter(({ door, route, status, thing, sent }) => {
    const { refusal, owner }: DoorRule = DOORS[door]
    const others = thing && owner ? [sent.others ?? 404] : []
    // Where its answer is the same, the thing itself is looked at.
    return sent.others !== status && [...REFUSED.map((caller) => refusal(caller, route)), ...others].includes(status)
  })
  expect(unclear.map(({ route }) => route)).toEqual([])
})

describe('the routes of the server', () => {
  it('are all that is served: nothing else in src/ opens an HTTP server, except for health checks', () => {
    const src = fileURLToPath(new URL('../../src', import.meta.url))
    const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file))
    const serving = files.filter((file) =>
      /\bfastify\(|^import (?!type |\{ Agent \} ).*from 'node:http[s2]?'|bull-board/m.test(
        readFileSync(join(src, file), 'utf8'),
      ),
    )
    // The app of openapi.ts never listens.
    expect(serving.sort()).toEqual(['http/server/app.ts', 'http/server/openapi.ts', 'process/health.ts'])
  })
})

describe('who may use which route', () => {
  const UPLOAD_SECRET = 'a secret of servers and workers, long enough'
  const payments = memoryPayments()
  let directory: string
  let s3: S3Server
  let oidc: OidcServer
  let callers: Callers
  let registered: readonly string[]

  // Everything that adds routes is turned on.
  const context = useService(async () => {
    directory = await mkdtemp(join(tmpdir(), 'easel-access-'))
    s3 = await startS3(directory)
    oidc = await startOidc()
    const env = {
      ...(await s3.env('access')),
      ...{ UPLOAD_VIA: 'server', UPLOAD_SECRET, MCP_ALLOWED_ORIGINS: 'https://agents.test', SIGN_UP: 'open' },
      ...{ OIDC_ISSUER: oidc.issuer, OIDC_CLIENT_ID: CLIENT.id, OIDC_CLIENT_SECRET: CLIENT.secret },
      ...{ RATE_LIMIT_MAX: '1000000', TRUST_PROXY: '127.0.0.1', SMTP_URL: 'smtp://127.0.0.1:9' },
    }
    return { env, server: { payment: { provider: payments, graceDays: 3 } } }
  })
  beforeAll(async () => {
    callers = await givenCallers(context.service.db)
    registered = await registeredRoutes()
  })
  afterAll(async () => {
    await Promise.all([s3.close(), oidc.close()])
    await rm(directory, { recursive: true, force: true, maxRetries: 20 })
  })

  let requests = 0
  const isStream = ({ headers }: Response) => headers.get('content-type')?.startsWith('text/event-stream')
  /** @returns what came. Each request comes from a network of its own: none may spend another one's tries. */
  async function ask(route: string, headers: Headers, { params }: Pick<GivenThing, 'params'>, { body, query }: Sent) {
    const [method = '', pattern = ''] = route.split(' ')
    const filled = (text: string) => text.replace(/:(\w+)/g, (whole, name) => params[name] ?? whole)
    const path = filled(pattern)
    const isForm = !/^\/(api|v1|admin|mcp|internal)\b/.test(path)
    const text =
      body && filled(isForm ? `${new URLSearchParams(body as never)}`.replaceAll('%3A', ':') : JSON.stringify(body))
    const n = requests++
    const answer = await fetch(`${context.service.url}${path}${query ? `?${query}` : ''}`, {
      ...{ method, redirect: 'manual' },
      headers: {
        accept: isForm ? 'text/html' : 'application/json',
        'x-forwarded-for': `2001:db8:${(n >> 16).toString(16)}:${(n & 0xffff).toString(16)}::1`,
        ...(isForm && { 'sec-fetch-site': 'same-origin' }),
        ...(text !== undefined && {
          'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json',
        }),
        ...headers,
      },
      ...(text !== undefined && { body: text }),
    })
    if (!isStream(answer)) expectDescribed(method, path, answer)
    await answer.arrayBuffer()
    return answer.headers.get('location')?.startsWith('/sign-in?next=') ? SIGN_IN : answer.status
  }

  /** Of a route that answers HEAD, too. */
  const headOf = (route: string) => {
    const head = route.replace(/^GET /, 'HEAD ')
    return head !== route && registered.includes(head) ? head : undefined
  }
  const SENDS_HEAD: readonly Caller[] = ['nobody', 'stranger', 'in a browser: stranger']
  const comingTo = (door: Door, method: string) =>
    (Object.entries(callers.headersOf) as [Caller, Headers][]).filter(([caller]) => DOORS[door].callers(caller, method))
  const thingOf = async (thing: Thing | undefined): Promise<GivenThing> =>
    thing ? givenThing(context.service, callers.owner, thing) : { ...NOWHERE, look: '' }
  const seen = async ({ look }: GivenThing) =>
    look === '' ? '' : JSON.stringify((await context.service.db.pool.query(look)).rows)
  const NOWHERE = { params: { id: crypto.randomUUID(), file: `${'0'.repeat(22)}.png`, customer: 'cus_none' } }

  /** Sends the requests of a row, those who are let in last. @returns what was not as the table says */
  async function wrongOf({ door, route, status, thing, sent }: (typeof rows)[number]): Promise<string[]> {
    const { refusal, owner }: DoorRule = DOORS[door]
    const [method = ''] = route.split(' ')
    const wrong: string[] = []
    const check = async (caller: Caller, headers: Headers, to: GivenThing, expected: Outcome, as = route) => {
      const got = await ask(as, headers, to, sent)
      if (got !== expected) wrong.push(`${as}, ${caller}: ${got} instead of ${expected}`)
    }
    await callers.restore()
    const its = await thingOf(thing)
    const before = await seen(its)
    const isTheirs = (caller: Caller) => !thing || !owner || caller === owner
    const letIn: [Caller, Headers][] = []
    await Promise.all(
      comingTo(door, method).map(([caller, headers]) => {
        const refused = sent.deleted?.[caller] ?? refusal(caller, method)
        const expected = refused ?? (isTheirs(caller) ? undefined : (sent.others ?? 404))
        if (expected !== undefined) {
          const head = SENDS_HEAD.includes(caller) ? headOf(route) : undefined
          return Promise.all([
            check(caller, headers, its, expected),
            head && check(caller, headers, its, expected, head),
          ])
        }
        letIn.push([caller, headers])
        return undefined
      }),
    )
    if ((await seen(its)) !== before) wrong.push(`${route}: who is refused has changed something`)
    for (const [n, [caller, headers]] of letIn.entries()) {
      const own = n === 0 || method === 'GET' || !thing ? its : await thingOf(thing)
      const expected = isSignedIn(caller) ? (sent.signedIn ?? status) : status
      // As programs do that show a preview of a link, or look whether there is something; the first, and the first in a browser.
      const head =
        n === 0 || isSignedIn(caller) !== isSignedIn((letIn[n - 1] as [Caller, Headers])[0]) ? headOf(route) : undefined
      if (head) await check(caller, headers, own, expected, head)
      await check(caller, headers, own, expected)
    }
    if (sent.others === status && (await seen(its)) === before) wrong.push(`${route}: its owner has changed nothing`)
    return wrong
  }

  it.each(Object.keys(DOORS) as Door[])(
    'is as the table says, behind the door "%s"',
    { timeout: 240_000 },
    async (door) => {
      const wrong: string[] = []
      for (const row of rows) if (row.door === door) wrong.push(...(await wrongOf(row)))
      // All of them: a comparison of long lists shows only some.
      if (wrong.length > 0) expect.fail(wrong.join('\n'))
    },
  )

  it('lets a key of the scope "accounts" change nothing of operators', { timeout: 240_000 }, async () => {
    const { operator, headersOf } = callers
    const its = { params: { name: operator.username, id: operator.keyId } }
    const headers = headersOf['operator key: accounts']
    const ask403 = async (route: string, sent: Sent) => [route, await ask(route, headers, its, sent)]
    const ofOperators = rows.filter(
      ({ door, route }) => door === 'adminAccounts' && /\/accounts\/:name|\/keys\/:id/.test(route),
    )
    expect(ofOperators.length).toBeGreaterThan(10)
    for (const { route, sent } of ofOperators) expect(await ask403(route, sent)).toEqual([route, 403])
    const { username } = operator
    const more: [route: string, body: object][] = [
      ['POST /admin/v1/accounts', { username: 'new-operator', role: 'operator' }],
      ['POST /admin/v1/accounts/import', { accounts: [{ name: username, email: 'thief@mail.test' }] }],
    ]
    for (const [route, body] of more) expect(await ask403(route, { body })).toEqual([route, 403])
    const subscriber = { params: (await thingOf('account')).params }
    for (const body of [{ kind: 'operator' }, { kind: 'operator', scope: 'read' }])
      expect(await ask('POST /admin/v1/accounts/:name/keys', headers, subscriber, { body })).toBe(400)
    const promote = { body: { role: 'operator' } }
    expect(await ask('PATCH /admin/v1/accounts/:name', headers, subscriber, promote)).toBe(403)
  })

  it('shows a private image to who has a link to it, until the link ends or is taken back', async () => {
    const { db } = context.service
    const [its, others] = [await thingOf('privateImage'), await thingOf('privateImage')]
    const links = imageLinks(imageSecret(db))
    const image = ({ params: { slug = '' } }: GivenThing, linkRevocations = 0) => ({ slug, linkRevocations })
    const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000)
    const link = await links.sign(image(its), inSeconds(3600))
    const { expires, signature } = link
    const wrong: [what: string, query: object][] = [
      ['ended', await links.sign(image(its), inSeconds(-1))],
      ['ended long ago', await links.sign(image(its), inSeconds(-1e6))],
      ['of another image', await links.sign(image(others), inSeconds(3600))],
      ['taken back', await links.sign(image(its, 1), inSeconds(3600))],
      ['made longer', { signature, expires: `${Number(expires) + 1}` }],
      ['with another form of its end', { signature, expires: `0${expires}` }],
      ['without an end', { signature }],
      ['with an end that is no number', { signature, expires: 'never' }],
      ['without a signature', { expires }],
      ['with an empty signature', { expires, signature: '' }],
      ['with a part of its signature', { expires, signature: signature.slice(0, -1) }],
      ...['A', '=', '.', '=junk', ' ', '%00', '\n'].map((junk): [string, object] => [
        `with ${JSON.stringify(junk)} behind it`,
        { expires, signature: signature + junk },
      ]),
      ['with a blank before it', { expires, signature: ` ${signature}` }],
    ]
    for (const route of ['GET /image/:slug', 'HEAD /image/:slug', 'GET /cdn/:file', 'HEAD /cdn/:file']) {
      const come = (query: object) => ask(route, {}, its, { query: `${new URLSearchParams({ ...query })}` })
      expect([route, await come(link)]).toEqual([route, 200])
      for (const [what, query] of wrong) expect([route, what, await come(query)]).toEqual([route, what, 404])
    }
    const revoke = 'POST /image/:slug/revoke-links'
    expect(await ask(revoke, callers.headersOf['in a browser: owner'], its, {})).toBe(303)
    expect(await ask('GET /image/:slug', {}, its, { query: `${new URLSearchParams({ ...link })}` })).toBe(404)
    expect(await ask('GET /image/:slug/report', {}, its, {})).toBe(404)
  })

  it('takes what workers and the payment provider send with their secret', async () => {
    const authorization = `Bearer ${UPLOAD_SECRET}`
    for (const { door, route, status, sent } of rows) {
      if (door === 'workers')
        expect([route, await ask(route, { authorization }, NOWHERE, sent)]).toEqual([route, status])
    }
    const { body, signature } = payments.signed({ id: 'evt_1' })
    const post = (as: string) =>
      fetch(`${context.service.url}/billing/stripe`, { method: 'POST', headers: { 'stripe-signature': as }, body })
    expect([(await post(signature)).status, (await post(`${signature}0`)).status]).toEqual([200, 400])
  })

  it('takes forms only from its own pages, whatever the browser tells of where they come from', async () => {
    const { cookie = '' } = callers.headersOf['in a browser: owner']
    const send = (headers: Headers) => ask('POST /account/language', { cookie, ...headers }, NOWHERE, SENT)
    const SENT = { body: { language: 'de' } }

    expect(await send({ 'sec-fetch-site': 'none' })).toBe(303)
    for (const site of ['cross-site', 'same-site', 'SAME-ORIGIN', 'same-origin, cross-site', ''])
      expect([site, await send({ 'sec-fetch-site': site })]).toEqual([site, 403])
    // Older browsers say less, and nobody may take that for a yes.
    const { url } = context.service
    const old = async (headers: Headers) =>
      (
        await fetch(`${url}/account/language`, {
          ...{ method: 'POST', redirect: 'manual', body: new URLSearchParams(SENT.body) },
          headers: { cookie, accept: 'text/html', ...headers },
        })
      ).status
    expect(await old({ origin: 'http://easel.test' })).toBe(303)
    for (const origin of ['null', 'https://evil.test', 'http://easel.test.evil.test', 'easel.test', ''])
      expect([origin, await old({ origin })]).toEqual([origin, 403])
    expect(await old({})).toBe(403)
  })

  it('refuses pages of other websites at /mcp, even with a key', async () => {
    const mcp = (origin: string) => ask('POST /mcp', { ...callers.headersOf.owner, origin }, NOWHERE, { body: {} })
    expect([await mcp('https://agents.test'), await mcp('https://evil.test'), await mcp('null')]).toEqual([
      400, 403, 403,
    ])
  })
})

describe('the server’s limits for connections', () => {
  it('are set, because Node’s own would let a client take as long and as much as it likes', async () => {
    const app = await buildBareApp()
    expect(app.server).toMatchObject({
      headersTimeout: 10_000,
      requestTimeout: 15_000,
      keepAliveTimeout: 65_000,
      // Longer than Create Image waits.
      timeout: 150_000,
    })
    expect(app.initialConfig).toMatchObject({ bodyLimit: 65_536 })
    await app.close()
  })
})
