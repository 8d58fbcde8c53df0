import { brotliCompressSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { givenSession } from '../../support/given-sign-in.js'
import { type GivenUser, givenUser } from '../../support/givens.js'
import { sendRaw } from '../../support/raw-http.js'
import { expectNoTrace } from '../../support/refusal.js'
import { useService } from '../../support/service.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000000', SIGN_UP: 'open' } })

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'application/x-www-form-urlencoded'
const ACCEPT = 'application/json, text/event-stream'

/** Wherever somebody may send text: the path, and a body around the text. */
const JSON_DOORS: Record<string, (text: string) => string> = {
  '/api/v1/generate': (text) => `{"prompt":"${text}","model_version_id":10}`,
  '/api/v1/generate?dry_run=true': (text) => `{"prompt":"x","negative_prompt":"${text}","model_version_id":10}`,
  '/api/v1/moderate': (text) => `{"prompt":"${text}"}`,
  '/api/v1/webhooks': (text) => `{"url":"https://example.com/","description":"${text}"}`,
  '/v1/images/generate': (text) => `{"prompt":"${text}"}`,
  '/v1/images/generations': (text) => `{"prompt":"${text}"}`,
  '/mcp': (text) =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"generate_image","arguments":{"prompt":"${text}"}}}`,
}
const FORM_DOORS: Record<string, (text: string) => string> = {
  '/playground': (text) => `prompt=${text}&model_version_id=10`,
  '/playground/check': (text) => `prompt=${text}&model_version_id=10`,
  '/keys': (text) => `name=${text}`,
  '/sign-in': (text) => `username=${text}&password=x`,
  '/sign-up': (text) => `username=${text}&password=xxxxxxxxxxxx`,
}

const NOT_UTF8: Record<string, number[]> = {
  'Latin-1': [0xe9],
  'Shift JIS': [0x93, 0x94],
  'half a character': [0xe2, 0x82],
  'a lone continuation': [0x80],
  'an overlong slash': [0xc0, 0xaf],
  'a longer overlong slash': [0xe0, 0x80, 0xaf],
  'an overlong NUL': [0xc0, 0x80],
  'a surrogate': [0xed, 0xa0, 0x80],
  'CESU-8': [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80],
  'beyond Unicode': [0xf4, 0x90, 0x80, 0x80],
  'no byte of any text': [0xff],
}

/** The body with these bytes in it. */
const around = (write: (text: string) => string, bytes: number[]): Buffer => {
  const [before = '', after = ''] = write('|').split('|')
  return Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)])
}

async function send(path: string, owner: GivenUser, body: Buffer | string, type: string, cookie?: string, coding = '') {
  const headers = {
    authorization: `Bearer ${owner.key}`,
    accept: ACCEPT,
    'content-type': type,
    ...(cookie && { cookie }),
    ...(coding && { 'content-encoding': coding }),
  }
  const sent = typeof body === 'string' ? body : new Uint8Array(body)
  const answer = await fetch(context.service.url + path, {
    ...{ method: 'POST', redirect: 'manual', body: sent },
    headers: { 'sec-fetch-site': 'same-origin', ...headers },
  })
  return { status: answer.status, text: await answer.text() }
}

describe('a body', () => {
  it.each(Object.keys(JSON_DOORS))('of JSON that is not UTF-8 is a 400 at %s, and nothing is charged', async (path) => {
    const owner = await givenUser(context.service.db)
    for (const [what, bytes] of Object.entries(NOT_UTF8)) {
      const { status, text } = await send(path, owner, around(JSON_DOORS[path] as never, bytes), JSON_TYPE)
      expect([what, status, text]).toEqual([what, 400, expect.stringMatching(/not valid UTF-8: encode it as UTF-8/)])
    }
    await expectNoTrace(context.service.db, owner)
  })

  it.each(Object.keys(FORM_DOORS))(
    'of a form that is not UTF-8 is a 400 at %s, however it is written',
    async (path) => {
      const { db } = context.service
      const owner = await givenUser(db)
      const cookie = path.startsWith('/sign') ? undefined : await givenSession(db, owner)
      const write = FORM_DOORS[path] as (text: string) => string
      for (const [what, bytes] of Object.entries(NOT_UTF8)) {
        const encoded = write(bytes.map((byte) => `%${byte.toString(16)}`).join(''))
        for (const body of [around(write, bytes), encoded]) {
          const { status, text } = await send(path, owner, body, FORM_TYPE, cookie)
          expect([what, status]).toEqual([what, 400])
          expect(text, what).toMatch(/not valid UTF-8: encode it as UTF-8/)
        }
      }
      for (const broken of ['%', '%z', '%zz', 'a%2', '100%'])
        expect([broken, (await send(path, owner, write(broken), FORM_TYPE, cookie)).status]).toEqual([broken, 400])
      await expectNoTrace(db, owner)
    },
  )

  it('that is not UTF-8 in a name, or beside all fields, is refused, too', async () => {
    const owner = await givenUser(context.service.db)
    for (const write of [(text: string) => `{"prompt":"x","${text}":1}`, (text: string) => `{"prompt":"x"}${text}`])
      expect((await send('/v1/images/generate', owner, around(write, [0xe9]), JSON_TYPE)).status).toBe(400)
  })

  it('in UTF-16 or UTF-32 is a 400, with and without a byte order mark', async () => {
    const owner = await givenUser(context.service.db)
    const little = Buffer.from('{"prompt":"ein Kätzchen"}', 'utf16le')
    const big = Buffer.from(little).swap16()
    const wide = Buffer.from([...'{"prompt":"x"}'].flatMap((letter) => [letter.charCodeAt(0), 0, 0, 0]))
    const marked = [Buffer.concat([Buffer.from([0xff, 0xfe]), little]), Buffer.concat([Buffer.from([0xfe, 0xff]), big])]
    for (const body of [little, big, wide, ...marked])
      for (const path of ['/api/v1/moderate', '/v1/images/generate', '/mcp'])
        expect((await send(path, owner, body, JSON_TYPE)).status).toBe(400)
    await expectNoTrace(context.service.db, owner)
  })

  it.each([...Object.keys(JSON_DOORS), ...Object.keys(FORM_DOORS)])(
    'in another charset is a 415 at %s',
    async (path) => {
      const { db } = context.service
      const owner = await givenUser(db)
      const cookie = path.startsWith('/sign') ? undefined : await givenSession(db, owner)
      const write = (JSON_DOORS[path] ?? FORM_DOORS[path]) as (text: string) => string
      const type = path in JSON_DOORS ? JSON_TYPE : FORM_TYPE
      for (const charset of [
        'iso-8859-1',
        '"windows-1252"',
        'UTF-16',
        'utf-7',
        "'Shift_JIS'",
        'utf-8; charset=latin1',
      ]) {
        const { status, text } = await send(path, owner, write('x'), `${type}; charset=${charset}`, cookie)
        expect([charset, status]).toEqual([charset, 415])
        expect(text).toMatch(/Unsupported charset .*: send the body as UTF-8\./)
      }
      await expectNoTrace(db, owner)
    },
  )

  it.each([...Object.keys(JSON_DOORS), ...Object.keys(FORM_DOORS)])(
    'that is compressed is a 415 at %s',
    async (path) => {
      const { db } = context.service
      const owner = await givenUser(db)
      const cookie = path.startsWith('/sign') ? undefined : await givenSession(db, owner)
      const [write, type] = path in JSON_DOORS ? [JSON_DOORS[path], JSON_TYPE] : [FORM_DOORS[path], FORM_TYPE]
      const plain = (write as (text: string) => string)('x')
      for (const [coding, body] of [
        ['gzip', gzipSync(plain)],
        ['br', brotliCompressSync(plain)],
        ['deflate', plain],
      ] as const) {
        const { status, text } = await send(path, owner, body, type, cookie, coding)
        expect([coding, status]).toEqual([coding, 415])
        expect(text).toMatch(/Unsupported Content-Encoding .*: send the body uncompressed\./)
      }
      expect((await send('/api/v1/moderate', owner, '{"prompt":"x"}', JSON_TYPE, undefined, 'identity')).status).toBe(
        200,
      )
      await expectNoTrace(db, owner)
    },
  )

  it('in UTF-8 is read whatever it is called, with a byte order mark or without', async () => {
    const { db } = context.service
    const owner = await givenUser(db)
    const text = 'ein Kätzchen 🐈 灯台 \u{10ffff}'
    const body = JSON.stringify({ prompt: text })
    for (const type of [
      '',
      '; charset=utf-8',
      '; charset="UTF-8"',
      ';Charset=utf8',
      '; x=y; charset=UTF8',
      ';charset=',
    ])
      for (const sent of [body, `\ufeff${body}`])
        expect([type, (await send('/api/v1/moderate', owner, sent, JSON_TYPE + type)).status]).toEqual([type, 200])
    const cookie = await givenSession(db, owner)
    for (const form of [`name=${encodeURIComponent(text)}`, `name=${text}`, `\ufeffname=${text}`])
      expect((await send('/keys', owner, form, `${FORM_TYPE};charset=utf-8`, cookie)).text).not.toContain('not valid')
    const { rows } = await db.pool.query('SELECT name FROM api_keys WHERE user_id = $1 AND name = $2', [owner.id, text])
    expect(rows).toHaveLength(3)
  })

  it('of JSON that escapes half a character is a 400 that names the place', async () => {
    const owner = await givenUser(context.service.db)
    for (const half of ['\\ud800', 'a\\uDFFF', '\\udc00\\ud800', '\\uD83D😀'])
      for (const [path, write] of Object.entries(JSON_DOORS)) {
        const { status, text } = await send(path, owner, write(half), JSON_TYPE)
        expect([path, half, status]).toEqual([path, half, 400])
        expect(text).toMatch(/(prompt|description) must be valid Unicode text: it has half a surrogate pair\./)
      }
    const arguments_ = { prompt: 'x', idempotency_key: '\ud800' }
    const call = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'generate_image', arguments: arguments_ },
    }
    const { text } = await send('/mcp', owner, JSON.stringify(call), JSON_TYPE)
    expect(text).toContain('params.arguments.idempotency_key must be valid Unicode text')
    const named = await send('/v1/images/generate', owner, '{"prompt":"x","a\\udc00":1}', JSON_TYPE)
    expect([named.status, named.text]).toEqual([
      400,
      expect.stringContaining('A field name must be valid Unicode text'),
    ])
    const deep = `${'{"a":['.repeat(6000)}"\\ud800"${']}'.repeat(6000)}`
    expect((await send('/mcp', owner, deep, JSON_TYPE)).status).toBe(400)
    await expectNoTrace(context.service.db, owner)
    // A whole pair, and a backslash before "ud800".
    const whole = await send('/api/v1/moderate', owner, '{"prompt":"\\ud83d\\ude00 \\\\ud800"}', JSON_TYPE)
    expect(whole.status).toBe(200)
  })
})

describe('a URL', () => {
  it('that does not decode as UTF-8 is a 400 everywhere', async () => {
    const { service } = context
    const owner = await givenUser(service.db)
    const cookie = await givenSession(service.db, owner)
    const broken = ['%', '%zz', 'a%2', '%e9', '%c0%af', '%ed%a0%80', '%e2%82', '%u0041', '\xe9', '\xc3\xa9']
    for (const path of [
      '/api/v1/images?cursor=',
      '/api/v1/',
      '/v1/models?x=',
      '/v1/',
      '/mcp?x=',
      '/gallery?q=',
      '/image/',
      '/cdn/',
      '/sign-in?next=',
      '/sign-in/oidc/callback?code=',
      '/docs?',
      '/operator/users?q=',
      '/nothing?',
    ])
      for (const text of broken) {
        const head = `GET ${path}${text} HTTP/1.1\r\nHost: easel.test\r\nAuthorization: Bearer ${owner.key}\r\nCookie: ${cookie}\r\n\r\n`
        const answer = await sendRaw(service.url, Buffer.from(head, 'latin1'))
        expect([path, text, answer?.status]).toEqual([path, text, 400])
        expect(JSON.stringify(answer?.body)).toMatch(/percent-encode it as UTF-8|not valid HTTP/)
      }
  })

  it('that is encoded well is read as it was meant', async () => {
    const { service } = context
    const owner = await givenUser(service.db)
    const cookie = await givenSession(service.db, owner)
    const address = `${service.url}/gallery?q=${encodeURIComponent('Kätzchen 100%')}`
    const answer = await fetch(address, { headers: { cookie } })
    expect(answer.status).toBe(200)
    expect(await answer.text()).toContain('value="Kätzchen 100%"')
  })
})
