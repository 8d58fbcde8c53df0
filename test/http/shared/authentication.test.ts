import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newApiKey } from '../../../src/core/accounts/api-key.js'
import { type Answer, call, expectCreateError, expectPersonalError, PROMPT } from '../../support/client.js'
import { type FaultProxy, startFaultProxy } from '../../support/fault-proxy.js'
import { givenKey, givenUser } from '../../support/givens.js'
import { sendRaw } from '../../support/raw-http.js'
import { useService } from '../../support/service.js'
import { createTestDatabase } from '../../support/services.js'

// As if behind a proxy, so that each test has an address of its own.
const context = useService({ env: { TRUST_PROXY: '127.0.0.1', RATE_LIMIT_MAX: '1000' } })

let addresses = 0
const newAddress = () => `192.0.2.${++addresses}`

interface From {
  readonly address?: string
  readonly url?: string
  readonly headers?: Record<string, string>
}
const account = (authorization: string | undefined, { address = newAddress(), url, headers }: From = {}) =>
  call(url ?? context.service.url, 'GET', '/api/v1/account', {
    headers: { 'x-forwarded-for': address, ...(authorization !== undefined && { authorization }), ...headers },
  })

/** The key with its character at `index` turned into another one. */
const withTypo = (key: string, index: number): string =>
  `${key.slice(0, index)}${key[index] === 'x' ? 'y' : 'x'}${key.slice(index + 1)}`

const REFUSED: [string, (key: string) => string | undefined][] = [
  ['no header', () => undefined],
  ['an empty header', () => ''],
  ['no scheme', (key) => key],
  ['another scheme', (key) => `Basic ${key}`],
  ['a scheme without a key', () => 'Bearer'],
  ['a scheme and blanks', () => 'Bearer   '],
  ['no blank between', (key) => `Bearer${key}`],
  ['two keys', (key) => `Bearer ${key} ${key}`],
  ['two keys with a comma', (key) => `Bearer ${key},${key}`],
  ['a key in quotes', (key) => `Bearer "${key}"`],
  ['a key without its prefix', (key) => `Bearer ${key.slice('easel_'.length)}`],
  ['a key with another prefix', (key) => `Bearer other${key.slice('easel'.length)}`],
  ['a key in capitals', (key) => `Bearer ${key.toUpperCase()}`],
  ['a key that lacks its last character', (key) => `Bearer ${key.slice(0, -1)}`],
  ['a key with one character too many', (key) => `Bearer ${key}0`],
  ['a key with a typo', (key) => `Bearer ${withTypo(key, 12)}`],
  ['a key with a typo in its checksum', (key) => `Bearer ${withTypo(key, key.length - 1)}`],
  ['a key of 8 KiB', () => `Bearer easel_${'0'.repeat(8192)}`],
  ['8 KiB of blanks', (key) => `Bearer${' '.repeat(8192)}${key} x`],
  ['bytes beyond ASCII', () => 'Bearer easel_\u00ff\u00fe'],
]

describe('a request', () => {
  it.each(REFUSED)('is refused with a 401 when it sends %s', async (_name, authorizationOf) => {
    const { key } = await givenUser(context.service.db)
    const answer = await account(authorizationOf(key))
    expectPersonalError(answer, 401, /^Missing or invalid API key: send the header "Authorization: Bearer <API_KEY>"/)
    expect(answer.headers.get('www-authenticate')).toBe('Bearer')
  })

  it('is refused with a 401 when its key is well-formed but unknown', async () => {
    const answer = await account(`Bearer ${newApiKey('easel')}`)
    expectPersonalError(answer, 401, /^Invalid API key/)
    expect(answer.headers.get('www-authenticate')).toBe('Bearer')
  })

  it.each(['Bearer', 'bearer', 'BEARER', 'bEaReR'])('may spell the scheme %s', async (scheme) => {
    const { key } = await givenUser(context.service.db)
    expect(await account(`${scheme} ${key}`)).toMatchObject({ status: 200 })
  })

  it('may have more than one blank before its key, and some behind', async () => {
    const { key } = await givenUser(context.service.db)
    expect(await account(`Bearer    ${key}   `)).toMatchObject({ status: 200 })
  })

  it('is judged by its first Authorization header alone', async () => {
    const { key } = await givenUser(context.service.db)
    const both = (first: string, second: string) =>
      sendRaw(
        context.service.url,
        `GET /api/v1/account HTTP/1.1\r\nHost: easel.test\r\nX-Forwarded-For: ${newAddress()}\r\n` +
          `Authorization: Bearer ${first}\r\nAuthorization: Bearer ${second}\r\n\r\n`,
      )
    expect(await both(key, newApiKey('easel'))).toMatchObject({ status: 200 })
    expect(await both(newApiKey('easel'), key)).toMatchObject({ status: 401 })
  })

  it.each([
    ['GET', '/api/v1/account'],
    ['HEAD', '/api/v1/account'],
    ['GET', '/api/v1/models'],
    ['GET', '/api/v1/generate'],
    ['GET', '/api/v1/generate/'],
    ['GET', '/api/v1/generate/gen_00000000000000000000000000'],
    ['POST', '/api/v1/generate'],
    ['POST', '/v1/images/generate'],
  ])('needs a key on %s %s, before anything else of it is looked at', async (method, path) => {
    const post = method === 'POST'
    const answer = await call(context.service.url, method, path, post ? { body: '{broken' } : {})
    expect(answer.status).toBe(401)
    expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    if (method !== 'HEAD') {
      const refusal = path.startsWith('/api')
        ? expectPersonalError
        : (a: Answer, s: number, m: RegExp) => expectCreateError(a, s, 'unauthorized', m)
      refusal(answer, 401, /^Missing or invalid API key/)
    }
  })
})

describe('a key in X-API-Key', () => {
  const send = (path: string, headers: Record<string, string>, method = 'GET', body?: unknown) =>
    call(context.service.url, method, path, { headers: { 'x-forwarded-for': newAddress(), ...headers }, body })

  it('opens both interfaces and the agents’ endpoint', async () => {
    const { key, username } = await givenUser(context.service.db)
    const headers = { 'X-Api-Key': key }
    expect(await send('/api/v1/account', headers)).toMatchObject({ status: 200, body: { username } })
    expect(await send('/v1/models', headers)).toMatchObject({ status: 200 })
    expectCreateError(await send('/v1/images/generate', headers, 'POST', {}), 400, 'invalid_parameter', /^prompt/, {
      parameter: 'prompt',
    })
    const accept = 'application/json, text/event-stream'
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    expect(await send('/mcp', { ...headers, accept }, 'POST', list)).toMatchObject({ status: 200 })
  })

  it('is not looked at beside Authorization: Bearer', async () => {
    const [one, two] = [await givenUser(context.service.db), await givenUser(context.service.db)]
    const both = (authorization: string, key: string) => send('/api/v1/account', { authorization, 'x-api-key': key })
    expect((await both(`Bearer ${one.key}`, two.key)).body.username).toBe(one.username)
    expect(await both(`bearer ${one.key}`, 'nonsense')).toMatchObject({ status: 200 })
    for (const authorization of ['Bearer', 'Bearer nonsense', `Bearer ${newApiKey('easel')}`])
      expect(await both(authorization, two.key), authorization).toMatchObject({ status: 401 })
  })

  it('counts where Authorization is a proxy’s own', async () => {
    const { key } = await givenUser(context.service.db)
    const headers = { authorization: `Basic ${btoa('a:b')}`, 'x-api-key': key }
    expect(await send('/api/v1/account', headers)).toMatchObject({ status: 200 })
  })

  it.each([
    ['nothing', () => ''],
    ['a scheme', (key: string) => `Bearer ${key}`],
    ['two keys', (key: string) => `${key}, ${key}`],
    ['a typo', (key: string) => withTypo(key, 12)],
    ['8 KiB', () => `easel_${'0'.repeat(8192)}`],
  ])('is refused with a 401 if it is %s', async (_name, sentOf) => {
    const { key } = await givenUser(context.service.db)
    expectPersonalError(await send('/api/v1/account', { 'x-api-key': sentOf(key) }), 401, /^Missing or invalid API key/)
  })

  it('counts as a guess if it is unknown, together with those in Authorization', async () => {
    const address = newAddress()
    const unknown = (n: number) => {
      const key = newApiKey('easel')
      const headers = {
        'x-forwarded-for': address,
        ...(n % 2 ? { 'x-api-key': key } : { authorization: `Bearer ${key}` }),
      }
      return call(context.service.url, 'GET', '/api/v1/account', { headers })
    }
    const statuses: number[] = []
    for (let n = 0; n <= 30; n++) statuses.push((await unknown(n)).status)
    expect(statuses).toEqual([...Array(30).fill(401), 429])
  })

  it('shares the rate limit of its account', async () => {
    const { url } = await context.service.server({}, { RATE_LIMIT_MAX: '2' })
    const { key } = await givenUser(context.service.db)
    const statuses = []
    for (const headers of [{ 'x-api-key': key }, { authorization: `Bearer ${key}` }, { 'x-api-key': key }])
      statuses.push((await call(url, 'GET', '/api/v1/account', { headers: headers as Record<string, string> })).status)
    expect(statuses).toEqual([200, 200, 429])
  })
})

describe('a revoked key', () => {
  it('opens nothing any more, on any server', async () => {
    const { service } = context
    const second = await service.server()
    const owner = await givenUser(service.db)
    const { key: other } = await givenKey(service.db, owner.id)
    for (const url of [service.url, second.url])
      expect(await account(`Bearer ${owner.key}`, { url })).toMatchObject({ status: 200 })
    await service.db.pool.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [owner.keyId])
    for (const url of [service.url, second.url]) {
      expectPersonalError(await account(`Bearer ${owner.key}`, { url }), 401, /has been revoked/)
      expect(await account(`Bearer ${other}`, { url })).toMatchObject({ status: 200 })
    }
  })
})

describe('a key of a deleted user', () => {
  it.each([
    ['GET', '/api/v1/account', 404],
    ['GET', '/api/v1/models', 401],
    ['GET', '/api/v1/generate', 401],
    ['GET', '/api/v1/generate/gen_00000000000000000000000000', 401],
    ['POST', '/api/v1/generate', 401],
    ['POST', '/v1/images/generate', 401],
  ])('gets for %s %s a %d', async (method, path, status) => {
    const { db, url } = context.service
    const { id, key } = await givenUser(db)
    await db.pool.query('UPDATE users SET deleted_at = now() WHERE id = $1', [id])
    expect(await call(url, method, path, { key, ...(method === 'POST' && { body: PROMPT }) })).toMatchObject({ status })
  })
})

describe('guesses of keys', () => {
  const guess = (from?: From) => account(`Bearer ${newApiKey('easel')}`, from)
  const statusesOf = async (count: number, send: (n: number) => Promise<Answer>) =>
    (await Promise.all(Array.from({ length: count }, (_, n) => send(n)))).map(({ status }) => status).sort()

  it('are refused with a 429 after thirty a minute from one address', async () => {
    const address = newAddress()
    expect(await statusesOf(31, () => guess({ address }))).toEqual([...Array(30).fill(401), 429])
    const answer = await guess({ address })
    expectPersonalError(answer, 429, /rate limit/)
    const retryAfter = answer.headers.get('retry-after') ?? ''
    expect(retryAfter).toMatch(/^[1-9]\d?$/)
    expect(Number(retryAfter)).toBeLessThanOrEqual(60)
    expect(await guess()).toMatchObject({ status: 401 }) // from another address
  })

  it('count together over both interfaces, each answering in its own shape', async () => {
    const address = newAddress()
    await statusesOf(30, () => guess({ address }))
    const answer = await call(context.service.url, 'POST', '/v1/images/generate', {
      headers: { 'x-forwarded-for': address, authorization: `Bearer ${newApiKey('easel')}` },
      body: { prompt: 'x' },
    })
    expectCreateError(answer, 429, 'rate_limit_exceeded', /rate limit/, {
      retry_after: Number(answer.headers.get('retry-after')),
    })
  })

  it('count a revoked key in', async () => {
    const { db } = context.service
    const owner = await givenUser(db)
    await db.pool.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1', [owner.keyId])
    const address = newAddress()
    expect(await statusesOf(31, () => account(`Bearer ${owner.key}`, { address }))).toEqual([
      ...Array(30).fill(401),
      429,
    ])
  })

  it('do not keep valid keys from the same address out', async () => {
    const address = newAddress()
    const { key } = await givenUser(context.service.db)
    await statusesOf(31, () => guess({ address }))
    expect(await statusesOf(40, () => account(`Bearer ${key}`, { address }))).toEqual(Array(40).fill(200))
  })

  it('are only well-formed keys: not what is missing, malformed or wrongly checksummed', async () => {
    const address = newAddress()
    const { key } = await givenUser(context.service.db)
    const malformed = REFUSED.map(([, authorizationOf]) => authorizationOf(key))
    expect(await statusesOf(60, (n) => account(malformed[n % malformed.length], { address }))).toEqual(
      Array(60).fill(401),
    )
    expect(await guess({ address })).toMatchObject({ status: 401 })
  })

  it('count for the whole /64 of an IPv6 address, and for no other', async () => {
    expect(await statusesOf(31, (n) => guess({ address: `2001:db8:0:${addresses}:${n.toString(16)}::1` }))).toEqual([
      ...Array(30).fill(401),
      429,
    ])
    expect(await guess({ address: `2001:db8:0:${addresses + 1}::1` })).toMatchObject({ status: 401 }) // its neighbour
  })

  it.each([
    ['an IPv4 address', (address: string, port: number) => `${address}:${port}`],
    ['an IPv6 address', (address: string, port: number) => `[2001:db8:2:${address.split('.')[3]}::2]:${port}`],
    ['a bare IPv6 address', (address: string, port: number) => `[2001:db8:1:${address.split('.')[3]}::${port}]`],
  ])('count together over all ports that a proxy writes beside %s', async (_name, spell) => {
    const address = newAddress()
    expect(await statusesOf(31, (n) => guess({ address: spell(address, 1024 + n) }))).toEqual([
      ...Array(30).fill(401),
      429,
    ])
  })

  it('count an IPv4 address the same in its IPv6 spelling', async () => {
    const address = newAddress()
    await statusesOf(30, () => guess({ address }))
    expect(await guess({ address: `::ffff:${address}` })).toMatchObject({ status: 429 })
  })

  it('count for the address the trusted proxy saw, whatever the client claims before it', async () => {
    const address = newAddress()
    expect(await statusesOf(31, (n) => guess({ address: `203.0.113.${n}, ${address}` }))).toEqual([
      ...Array(30).fill(401),
      429,
    ])
  })

  it('count for the address of the connection where no proxy is trusted, whatever X-Forwarded-For says', async () => {
    const { url } = await context.service.server({}, { TRUST_PROXY: 'false' })
    expect(await statusesOf(31, (n) => guess({ url, address: `198.51.100.${n}` }))).toEqual([
      ...Array(30).fill(401),
      429,
    ])
  })
})

describe('a developer key', () => {
  it.each([
    ['GET', '/api/v1/account'],
    ['GET', '/api/v1/models'],
    ['GET', '/api/v1/generate'],
    ['GET', '/api/v1/generate/gen_00000000000000000000000000'],
    ['POST', '/api/v1/generate'],
  ])('is a 403 on %s %s, before the body is looked at', async (method, path) => {
    const { db, url } = context.service
    const { key } = await givenUser(db, { developer: { concurrency: 4 } })
    const answer = await call(url, method, path, { key, ...(method === 'POST' && { body: '{broken' }) })
    expectPersonalError(answer, 403, /^Developer keys work on the Create Image interface only/)
  })

  it('counts into the rate limit before it is refused', async () => {
    const { url } = await context.service.server({}, { RATE_LIMIT_MAX: '2', RATE_LIMIT_WINDOW_SECONDS: '600' })
    const { key } = await givenUser(context.service.db, { developer: { concurrency: 4 } })
    const account = () => call(url, 'GET', '/api/v1/account', { key })
    expect([await account(), await account(), await account()].map(({ status }) => status)).toEqual([403, 403, 429])
  })
})

describe('while Postgres is away', () => {
  let proxy: FaultProxy
  const away = useService(async () => {
    const { url } = await createTestDatabase()
    proxy = await startFaultProxy(url)
    return { env: { DATABASE_URL: proxy.through(url) } }
  })
  beforeAll(() => proxy.refuse())
  afterAll(() => proxy.close())

  it('a malformed key is still a 401, since it is not looked up', async () => {
    for (const [, authorizationOf] of REFUSED) {
      const answer = await account(authorizationOf(newApiKey('easel')), { url: away.service.url })
      expectPersonalError(answer, 401, /^Missing or invalid API key/)
    }
  })

  it('a well-formed key is a 503 on both interfaces, saying when to come back', async () => {
    const key = newApiKey('easel')
    const personal = await call(away.service.url, 'GET', '/api/v1/account', { key })
    expectPersonalError(personal, 503, /temporarily unavailable/)
    const create = await call(away.service.url, 'POST', '/v1/images/generate', { key, body: { prompt: 'x' } })
    expectCreateError(create, 503, 'unavailable', /temporarily unavailable/, { retry_after: 5 })
    for (const { headers } of [personal, create]) expect(headers.get('retry-after')).toBe('5')
  })
})
