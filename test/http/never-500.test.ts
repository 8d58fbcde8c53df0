import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { call } from '../support/client.js'
import { type GivenUser, givenUser } from '../support/givens.js'
import { expectNoTrace, expectRefusal, INTERFACES, type Interface } from '../support/refusal.js'
import { useService } from '../support/service.js'
import { expectFree, expectRefused, expectStored, SEED, send as sendTo } from './made-up-requests.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000000' } })
const send = (shape: Interface, owner: GivenUser, body: string, headers?: Record<string, string>) =>
  sendTo(context.service, shape, owner, body, headers)

const nested = (open: string, close: string, depth: number) => open.repeat(depth) + close.repeat(depth)
const prompt = (json: string) => `{"prompt":${json},"model_version_id":10}`
const field = (name: string, json: string) => `{"prompt":"x","model_version_id":10,"${name}":${json}}`

/** Bodies that have broken other services; none is valid on either interface. */
const CORPUS: [string, string][] = [
  ['a NUL character', prompt('"a\\u0000b"')],
  ['a lone high surrogate', prompt('"\\ud800"')],
  ['a lone low surrogate', prompt('"x\\udfff"')],
  ['surrogates in the wrong order', prompt('"\\udc00\\ud800"')],
  ['a NUL as the field', '{"prompt":"x","\\u0000":1}'],
  ['a lone surrogate as the field', '{"prompt":"x","\\ud800":1}'],
  ['a field cut in the middle of a surrogate pair', `{"prompt":"x","${'a'.repeat(49)}😀":1}`],
  ['1e309', field('steps', '1e309')],
  ['-1e309', field('cfg_scale', '-1e309')],
  ['2^53', field('seed', '9007199254740992')],
  ['2^63', field('seed', '9223372036854775808')],
  ['a number of 10,000 digits', field('width', '9'.repeat(10_000))],
  ['a number of 10,000 decimals', field('steps', `20.1${'0'.repeat(9_999)}`)],
  ['-0 steps', field('steps', '-0')],
  ['a huge model version', '{"prompt":"x","model_version_id":9007199254740993}'],
  ['a larger one', '{"prompt":"x","model_version_id":1e308}'],
  ['-0 as model version', '{"prompt":"x","model_version_id":-0}'],
  ['a model version beyond bigint', '{"prompt":"x","model_version_id":9223372036854775808}'],
  ['arrays to the limit', nested('[', ']', 32_000)],
  ['objects to the limit', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`],
  ['a deep prompt', prompt(nested('[', ']', 30_000))],
  ['a deep unknown field', field('x', nested('[', ']', 30_000))],
  ['many fields', `{${Array.from({ length: 5000 }, (_, n) => `"f${n}":1`).join(',')}}`],
  [
    'the same field thrice, the last one wrong',
    '{"prompt":"x","model_version_id":10,"steps":28,"steps":29,"steps":-1}',
  ],
  ['__proto__', '{"prompt":"x","model_version_id":10,"__proto__":{"steps":1}}'],
  ['__proto__ in disguise', '{"prompt":"x","model_version_id":10,"\\u005f_proto__":{"steps":1}}'],
  ['a deep __proto__', field('x', '{"__proto__":{"admin":true}}')],
  ['constructor', field('constructor', '{"prototype":{"steps":1}}')],
  ['constructor as a number', field('constructor', '1')],
  ['toString', field('toString', '1')],
  ['hasOwnProperty', field('hasOwnProperty', 'null')],
  ['an empty field name', field('', '1')],
  ['mass assignment', field('credits_charged', '0')],
  ['another user', field('user_id', '"00000000-0000-0000-0000-000000000000"')],
  ['SQL', field('sampler', `"'; DROP TABLE users; --"`)],
  ['a date', field('seed', '"2026-01-01"')],
  ['booleans', field('steps', 'true')],
  ['an object as the prompt', prompt('{"toString":"x"}')],
  ['NaN', field('steps', 'NaN')],
  ['Infinity', field('steps', 'Infinity')],
  ['a comment', '{"prompt":"x" /* y */}'],
  ['a trailing comma', '{"prompt":"x",}'],
  ['single quotes', "{'prompt':'x'}"],
  ['two documents', '{"prompt":"x"}{"prompt":"x"}'],
  ['a number', '1'],
  ['a string', '"x"'],
  ['true', 'true'],
  ['null', 'null'],
  ['an empty array', '[]'],
  ['an empty object', '{}'],
  ['blanks', '   '],
  ['a BOM alone', '\ufeff'],
  ['two BOMs', '\ufeff\ufeff{"prompt":"x"}'],
  ['a raw control character', '{"prompt":"a\u0001b"}'],
  ['a raw line break in a text', '{"prompt":"a\nb"}'],
  ['HTML', '<html></html>'],
  ['a form', 'prompt=x&model_version_id=10'],
]

describe.each(['personal', 'create'] as const)('the %s interface', (shape) => {
  it('refuses every body that has broken other services, charging nothing and locking nothing', async () => {
    const { db } = context.service
    const owner = await givenUser(db)
    for (const [name, body] of CORPUS) {
      expectRefusal(await send(shape, owner, body), shape, name)
      await expectNoTrace(db, owner)
    }
    await expectFree(context.service, owner)
  })

  it(`refuses bodies made up at random, charging nothing (seed ${SEED})`, () =>
    expectRefused(context.service, shape, 40))

  it('refuses a request without a body with a 400', async () => {
    const owner = await givenUser(context.service.db)
    const answer = await call(context.service.url, 'POST', INTERFACES[shape], { key: owner.key })
    expectRefusal(answer, shape, 'no body')
    expect(answer.status).toBe(400)
    await expectNoTrace(context.service.db, owner)
  })

  it('refuses JSON under another content type with a 415', async () => {
    const owner = await givenUser(context.service.db)
    const body = '{"prompt":"x","model_version_id":10}'
    for (const type of [
      'text/plain',
      'text/json',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'application/jsonx',
      'x',
      'application/json, text/plain',
      '*/*',
    ]) {
      const answer = await send(shape, owner, body, { 'content-type': type })
      expectRefusal(answer, shape, type)
      expect(answer.status, type).toBe(415)
    }
    await expectNoTrace(context.service.db, owner)
  })

  it('refuses a body above 64 KiB with a 413', async () => {
    const owner = await givenUser(context.service.db)
    const large = JSON.stringify({ prompt: 'x'.repeat(65_600) })
    const answer = await send(shape, owner, large)
    expectRefusal(answer, shape, '64 KiB')
    expect(answer.status).toBe(413)
    await expectNoTrace(context.service.db, owner)
  })

  it('refuses a compressed body, which it does not unpack', async () => {
    const { db, url } = context.service
    const owner = await givenUser(db)
    const answer = await fetch(`${url}${INTERFACES[shape]}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${owner.key}`,
        'content-type': 'application/json',
        'content-encoding': 'gzip',
      },
      body: gzipSync('{"prompt":"x","model_version_id":10}'),
    })
    expectRefusal({ status: answer.status, headers: answer.headers, body: await answer.json() }, shape, 'gzip')
    await expectNoTrace(db, owner)
  })

  it('refuses a wrong body under an Idempotency-Key of any bytes', async () => {
    const owner = await givenUser(context.service.db)
    for (const key of ["'; DROP TABLE users; --", '\u00e9\u00ff', '%00', '\t', 'x'.repeat(256), '{"a":1}']) {
      expectRefusal(await send(shape, owner, '{"prompt":5}', { 'idempotency-key': key }), shape, key)
    }
    await expectNoTrace(context.service.db, owner)
  })
})

describe('the Personal Access API', () => {
  it(`stores odd but valid requests as they came (seed ${SEED})`, () => expectStored(context.service, 15))

  it.each(['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/json;'])(
    'takes a body of the type %s',
    async (type) => {
      const owner = await givenUser(context.service.db)
      const body = '{"prompt":"x","model_version_id":10}'
      expect(await send('personal', owner, body, { 'content-type': type })).toMatchObject({ status: 201 })
    },
  )

  it('takes a body that begins with a BOM, as some editors save a file', async () => {
    const owner = await givenUser(context.service.db)
    const body = '\ufeff{"prompt":"x","model_version_id":10}'
    expect(await send('personal', owner, body)).toMatchObject({ status: 201 })
  })

  it('takes the longest prompts with every character as an escape, which fits into 64 KiB', async () => {
    const owner = await givenUser(context.service.db)
    const emoji = '\\ud83d\\ude00'.repeat(2000)
    const body = `{"prompt":"${emoji}","negative_prompt":"${emoji}","model_version_id":10}`
    expect(await send('personal', owner, body)).toMatchObject({ status: 201 })
  })

  it('takes an Idempotency-Key of any bytes that a header can hold', async () => {
    for (const key of [
      "'; DROP TABLE users; --",
      '\u00e9\u00ff',
      '%00',
      'a\tb',
      'x'.repeat(255),
      '{"a":1}',
      '\u00a0x',
    ]) {
      const owner = await givenUser(context.service.db)
      const headers = { 'idempotency-key': key }
      const first = await send('personal', owner, '{"prompt":"x","model_version_id":10}', headers)
      expect(first.status, key).toBe(201)
      const again = await send('personal', owner, '{"prompt":"x","model_version_id":10}', headers)
      expect(again.body, key).toEqual(first.body)
    }
  })
})
