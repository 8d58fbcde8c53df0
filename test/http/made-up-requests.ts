/** Requests made up at random: some that must be refused, some that are odd but valid. */
import fc from 'fast-check'
import { expect } from 'vitest'
import { call } from '../support/client.js'
import { effort, seedOf } from '../support/effort.js'
import { type GivenUser, givenUser } from '../support/givens.js'
import { expectNoTrace, expectRefusal, INTERFACES, type Interface } from '../support/refusal.js'
import type { Service } from '../support/service.js'

export const SEED = seedOf(20261120)

export const send = (
  { url }: Service,
  shape: Interface,
  { key }: GivenUser,
  body: string,
  headers: Record<string, string> = {},
) => call(url, 'POST', INTERFACES[shape], { key, body, headers })

/** A valid request goes through, so nothing holds the account any more. */
export async function expectFree(service: Service, owner: GivenUser): Promise<void> {
  const answer = await send(service, 'personal', owner, '{"prompt":"a lighthouse","model_version_id":10}')
  expect(answer).toMatchObject({ status: 201 })
}

const KNOWN = [
  ...['prompt', 'negative_prompt', 'model_version_id', 'model', 'width', 'height'],
  ...['batch_size', 'steps', 'cfg_scale', 'sampler', 'seed'],
]
const NASTY = [
  ...[0, -0, -1, 0.1, 1e21, -1e308, 5e-324, 2 ** 31, 2 ** 53, 2 ** 63],
  ...['', ' ', '\0', '\ud800', '2', [], {}, null, true],
]

/** Any code point, lone surrogates too. fast-check's own unit 'binary' takes most of a second to make. */
const unit = fc.integer({ min: 0, max: 0x10ffff }).map(
  (code) => String.fromCodePoint(code),
  (character) => (character as string).codePointAt(0) as number,
)

/** Neither interface accepts one of these. */
function refusedBodies(): fc.Arbitrary<string> {
  const text = fc.string({ unit, maxLength: 40 })
  const value = fc.oneof(fc.constantFrom(...NASTY), text, fc.double(), fc.integer(), fc.jsonValue({ maxDepth: 3 }))
  const name = fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...KNOWN) }, text)
  const fields = fc.dictionary(name, value, { maxKeys: 8 })
  // Whatever the rest is, this makes it wrong.
  const wrong = fc.oneof(
    fc.constant({ prompt: 5 }),
    fc.record({ prompt: fc.constant('x'), steps: fc.constantFrom(0, -1, 1000, 'x', [], 0.5) }),
    fc.record({ prompt: fc.constantFrom('', ' ', '\0', '\udfff', 'x'.repeat(2001)) }),
    fc.record({ prompt: text, width: fc.constantFrom(1, 833, 1e9, -8, '832') }),
  )
  const object = fc.tuple(fields, wrong).map(([some, other]) => JSON.stringify({ ...some, ...other }))
  const junk = fc.string({ unit, minLength: 1, maxLength: 3 })
  const broken = fc.tuple(object, fc.nat(), junk).map(([json, at, end]) => `${json.slice(0, at % json.length)}${end}`)
  return fc.oneof({ weight: 3, arbitrary: object }, { weight: 1, arbitrary: broken })
}

export async function expectRefused(service: Service, shape: Interface, rounds: number): Promise<void> {
  const owner = await givenUser(service.db)
  await fc.assert(
    fc.asyncProperty(refusedBodies(), async (body) =>
      expectRefusal(await send(service, shape, owner, body), shape, body),
    ),
    { seed: SEED, numRuns: rounds * effort, endOnFailure: true },
  )
  await expectNoTrace(service.db, owner)
  await expectFree(service, owner)
}

/** Valid fields of a submit with any text and number that they may hold. */
function acceptedFields() {
  // Everything but NUL and lone surrogates, among them control characters, bidi overrides and unassigned code points.
  const text = fc
    .string({ unit, minLength: 1, maxLength: 60 })
    .map((made) => `x${made.toWellFormed().replaceAll('\0', '')}`)
  const odd = fc.constantFrom(-0, 5e-324, 1e-310, 29.999999999999996)
  return fc.record({
    prompt: text,
    negative_prompt: text,
    cfg_scale: fc.oneof(fc.double({ min: 0, max: 30, noNaN: true }), odd),
    seed: fc.integer({ min: 0, max: 4294967295 }),
  })
}

export async function expectStored(service: Service, rounds: number): Promise<void> {
  const { db } = service
  await fc.assert(
    fc.asyncProperty(acceptedFields(), async (fields) => {
      const body = JSON.stringify({ ...fields, model_version_id: 10 })
      const answer = await send(service, 'personal', await givenUser(db), body)
      expect(answer.status, body).toBe(201)
      const { rows } = await db.pool.query('SELECT * FROM generations WHERE id = $1', [answer.body.id])
      // Minus nought is nought.
      expect(rows[0]).toMatchObject({ ...fields, cfg_scale: fields.cfg_scale + 0 })
    }),
    { seed: SEED, numRuns: rounds * effort, endOnFailure: true },
  )
}
