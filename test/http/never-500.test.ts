import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { call } from '../support/client.js'
import { seedOf } from '../support/effort.js'
import { type GivenUser, givenUser } from '../support/givens.js'
import { expectNoTrace, expectRefusal, INTERFACES, type Interface } from '../support/refusal.js'
import { useService } from '../support/service.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000000' } })

/** A valid request goes through, so nothing holds the account any more. */
async function expectFree(owner: GivenUser) {
  const body = { prompt: 'a lighthouse', model_version_id: 10 }
  expect(await call(context.service.url, 'POST', INTERFACES.personal, { key: owner.key, body })).toMatchObject({
    status: 201,
  })
}

const send = (shape: Interface, { key }: GivenUser, body: string, headers: Record<string, string> = {}) =>
  call(context.service.url, 'POST', INTERFACES[shape], { key, body, headers })

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

describe.each(['personal', 'create'] as const)('hostile bodies, %s interface', (shape) => {
  it.each(CORPUS)('%s', async (name, body) => {
    const owner = await givenUser(context.service.db)
    expectRefusal(await send(shape, owner, body), shape, name)
    await expectNoTrace(context.service.db, owner)
    await expectFree(owner)
  })

  it('three hundred bodies made up', async () => {
    const owner = await givenUser(context.service.db)
    const known = [
      'prompt',
      'negative_prompt',
      'model_version_id',
      'model',
      'width',
      'height',
      'batch_size',
      'steps',
      'cfg_scale',
      'sampler',
      'seed',
    ]
    const text = fc.string({ unit: 'binary', maxLength: 40 })
    const nasty = fc.constantFrom(
      0,
      -0,
      -1,
      0.1,
      1e21,
      -1e308,
      5e-324,
      2 ** 31,
      2 ** 53,
      2 ** 63,
      '',
      ' ',
      '\0',
      '\ud800',
      '2',
      [],
      {},
      null,
      true,
    )
    const value = fc.oneof(nasty, text, fc.double(), fc.integer(), fc.jsonValue({ maxDepth: 3 }))
    const fields = fc.dictionary(fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...known) }, text), value, {
      maxKeys: 8,
    })
    // Whatever the rest is, this makes it wrong: only refusals are wanted here.
    const wrong = fc.oneof(
      fc.constant({ prompt: 5 }),
      fc.record({ prompt: fc.constant('x'), steps: fc.constantFrom(0, -1, 1000, 'x', [], 0.5) }),
      fc.record({ prompt: fc.constantFrom('', ' ', '\0', '\udfff', 'x'.repeat(2001)) }),
      fc.record({ prompt: text, width: fc.constantFrom(1, 833, 1e9, -8, '832') }),
    )
    const object = fc.tuple(fields, wrong).map(([some, other]) => JSON.stringify({ ...some, ...other }))
    const broken = fc
      .tuple(object, fc.nat(), fc.string({ unit: 'binary', minLength: 1, maxLength: 3 }))
      .map(([json, at, junk]) => {
        const cut = at % json.length
        return `${json.slice(0, cut)}${junk}`
      })
    const body = fc.oneof({ weight: 3, arbitrary: object }, { weight: 1, arbitrary: broken })
    await fc.assert(
      fc.asyncProperty(body, async (json) => expectRefusal(await send(shape, owner, json), shape, json)),
      { seed: seedOf(20261120), numRuns: 300, endOnFailure: true },
    )
    await expectNoTrace(context.service.db, owner)
    await expectFree(owner)
  })

  it('are missed where there is none at all', async () => {
    const owner = await givenUser(context.service.db)
    const answer = await call(context.service.url, 'POST', INTERFACES[shape], { key: owner.key })
    expectRefusal(answer, shape, 'no body')
    expect(answer.status).toBe(400)
    await expectNoTrace(context.service.db, owner)
  })

  it('are not read under another content type', async () => {
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

  it('are a 413 above 64 KiB', async () => {
    const owner = await givenUser(context.service.db)
    const large = JSON.stringify({ prompt: 'x'.repeat(65_600) })
    const answer = await send(shape, owner, large)
    expectRefusal(answer, shape, '64 KiB')
    expect(answer.status).toBe(413)
    await expectNoTrace(context.service.db, owner)
  })

  it('are not unpacked: what is compressed is no JSON', async () => {
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

  it('Idempotency-Keys of any bytes do no harm', async () => {
    const owner = await givenUser(context.service.db)
    for (const key of ["'; DROP TABLE users; --", '\u00e9\u00ff', '%00', '\t', 'x'.repeat(256), '{"a":1}']) {
      expectRefusal(await send(shape, owner, '{"prompt":5}', { 'idempotency-key': key }), shape, key)
    }
    await expectNoTrace(context.service.db, owner)
  })
})

describe('odd but valid requests', () => {
  it('are accepted and stored as they came', async () => {
    const { db } = context.service
    // Everything but NUL and lone surrogates, among them control characters, bidi overrides and unassigned code points.
    const text = fc
      .string({ unit: 'binary', minLength: 1, maxLength: 60 })
      .map((made) => `x${made.toWellFormed().replaceAll('\0', '')}`)
    const cfgScale = fc.oneof(
      fc.double({ min: 0, max: 30, noNaN: true }),
      fc.constantFrom(-0, 5e-324, 1e-310, 29.999999999999996),
    )
    const asked = fc.record({
      prompt: text,
      negative_prompt: text,
      cfg_scale: cfgScale,
      seed: fc.integer({ min: 0, max: 4294967295 }),
    })
    await fc.assert(
      fc.asyncProperty(asked, async (fields) => {
        const body = JSON.stringify({ ...fields, model_version_id: 10 })
        const answer = await send('personal', await givenUser(db), body)
        expect(answer.status, body).toBe(201)
        const { rows } = await db.pool.query('SELECT * FROM generations WHERE id = $1', [answer.body.id])
        // Minus nought is nought.
        expect(rows[0]).toMatchObject({ ...fields, cfg_scale: fields.cfg_scale + 0 })
      }),
      { seed: seedOf(20261120), numRuns: 60, endOnFailure: true },
    )
  })

  it.each(['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/json;'])(
    'may be sent as %s',
    async (type) => {
      const owner = await givenUser(context.service.db)
      const body = '{"prompt":"x","model_version_id":10}'
      expect(await send('personal', owner, body, { 'content-type': type })).toMatchObject({ status: 201 })
    },
  )

  it('may begin with a BOM, as some editors save a file', async () => {
    const owner = await givenUser(context.service.db)
    const body = '\ufeff{"prompt":"x","model_version_id":10}'
    expect(await send('personal', owner, body)).toMatchObject({ status: 201 })
  })

  it('may write every character of both prompts as an escape, which fits into 64 KiB', async () => {
    const owner = await givenUser(context.service.db)
    const emoji = '\\ud83d\\ude00'.repeat(2000)
    const body = `{"prompt":"${emoji}","negative_prompt":"${emoji}","model_version_id":10}`
    expect(await send('personal', owner, body)).toMatchObject({ status: 201 })
  })

  it('may carry an Idempotency-Key of any bytes a header can hold', async () => {
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
