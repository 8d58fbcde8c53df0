import { once } from 'node:events'
import { request } from 'node:http'
import { json } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { hashApiKey } from '../../../src/core/accounts/api-key.js'
import { SAMPLERS } from '../../../src/core/generations/generation.js'
import { call, expectPersonalError, PROMPT } from '../../support/client.js'
import {
  chargesOf,
  creditsOf,
  type GivenUser,
  givenGeneration,
  givenUser,
  rowOf,
  type UserOptions,
} from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'

// The limit has tests of its own; here it would only stand in the way.
const context = useService({ env: { RATE_LIMIT_MAX: '1000' } })
const user = (options?: UserOptions) => givenUser(context.service.db, options)
const submit = ({ key }: GivenUser, body: unknown, headers?: Record<string, string>) =>
  call(context.service.url, 'POST', '/api/v1/generate', { key, body, ...(headers && { headers }) })

describe('POST /api/v1/generate', () => {
  it('answers 201 with exactly the spec’s fields and charges a credit per image', async () => {
    const { db } = context.service
    const owner = await user({ credits: 5 })
    const answer = await submit(owner, { ...PROMPT, batch_size: 2, seed: 7 })
    expect(answer.status).toBe(201)
    const { id, created_at: createdAt } = answer.body
    expect(answer.body).toEqual({
      id: expect.stringMatching(/^gen_[0-9a-z]{26}$/),
      status: 'queued',
      model_version_id: 10,
      model_name: 'Pony Diffusion',
      credits_charged: 2,
      seed: 7,
      created_at: expect.any(String),
      poll_url: `http://easel.test/api/v1/generate/${id}`,
    })
    expect(new Date(createdAt).toISOString()).toBe(createdAt)
    expect(await creditsOf(db, owner)).toBe(3)
    expect(answer.headers.get('x-credits-remaining')).toBe('3')
    expect(await chargesOf(db, owner)).toEqual([['charge', -2]])
  })

  it('fills in the spec’s defaults, also for null, and draws a seed that every backend can use', async () => {
    const nothings = {
      negative_prompt: null,
      width: null,
      height: null,
      batch_size: null,
      steps: null,
      cfg_scale: null,
      sampler: null,
      seed: null,
    }
    for (const body of [PROMPT, { ...PROMPT, ...nothings }, { ...PROMPT, seed: -1 }]) {
      const answer = await submit(await user(), body)
      expect(answer.status).toBe(201)
      expect(answer.body.seed).toBeLessThanOrEqual(2147483644)
      expect(await rowOf(context.service.db, answer.body)).toMatchObject({
        negative_prompt: '',
        width: 832,
        height: 1216,
        batch_size: 1,
        steps: 30,
        cfg_scale: 7,
        sampler: 'euler_a',
        seed: answer.body.seed,
      })
    }
  })

  it.each([
    ['the smallest', { width: 256, height: 256, steps: 1, cfg_scale: 0, batch_size: 1, seed: 0 }],
    ['the largest', { width: 2048, height: 1536, steps: 100, cfg_scale: 30, batch_size: 4, seed: 4294967295 }],
    ['fractional guidance', { cfg_scale: 6.5 }],
    ['2000 characters, each of two UTF-16 units', { prompt: '😀'.repeat(2000), negative_prompt: '😀'.repeat(2000) }],
  ])('accepts %s values', async (_name, values) => {
    expect(await submit(await user(), { ...PROMPT, ...values })).toMatchObject({ status: 201 })
  })

  it.each(SAMPLERS)('accepts the sampler %s', async (sampler) => {
    const answer = await submit(await user(), { ...PROMPT, sampler })
    expect(answer.status).toBe(201)
    expect(await rowOf(context.service.db, answer.body)).toMatchObject({ sampler })
  })

  it.each<[string, unknown, RegExp]>([
    ['no prompt', { model_version_id: 10 }, /^prompt is required/],
    ['a prompt that is null', { ...PROMPT, prompt: null }, /^prompt is required/],
    ['a prompt that is no string', { ...PROMPT, prompt: 5 }, /^prompt must be a string/],
    ['a blank prompt', { ...PROMPT, prompt: ' \n\t ' }, /^prompt is required/],
    ['2001 characters', { ...PROMPT, prompt: 'x'.repeat(2001) }, /^prompt must be at most 2000 characters/],
    ['2001 emoji', { ...PROMPT, prompt: '😀'.repeat(2001) }, /^prompt must be at most 2000 characters/],
    ['a NUL character', { ...PROMPT, prompt: 'a\0b' }, /^prompt must be valid Unicode text/],
    ['a lone surrogate', '{"prompt":"a\\ud800","model_version_id":10}', /^prompt must be valid Unicode text/],
    ['a negative prompt that is no string', { ...PROMPT, negative_prompt: [] }, /^negative_prompt must be a string/],
    [
      'a negative prompt that is too long',
      { ...PROMPT, negative_prompt: 'x'.repeat(2001) },
      /^negative_prompt must be at most 2000/,
    ],
    ['no model version', { prompt: 'x' }, /^model_version_id is required/],
    ['a model version that is null', { prompt: 'x', model_version_id: null }, /^model_version_id is required/],
    [
      'a model version as text',
      { prompt: 'x', model_version_id: '10' },
      /^model_version_id must be an integer, without/,
    ],
    ['a fractional model version', { prompt: 'x', model_version_id: 1.5 }, /^model_version_id must be an integer/],
    ['an infinite model version', '{"prompt":"x","model_version_id":1e309}', /^model_version_id must be an integer/],
    ['a width below 256', { ...PROMPT, width: 248 }, /^width must be an integer from 256 to 2048/],
    ['a width above 2048', { ...PROMPT, width: 2056 }, /^width must be an integer from 256 to 2048/],
    ['a width off the grid', { ...PROMPT, width: 833 }, /^width must be a multiple of 8/],
    ['a height off the grid', { ...PROMPT, height: 1220 }, /^height must be a multiple of 8/],
    [
      'a width as text',
      { ...PROMPT, width: '832' },
      /^width must be an integer from 256 to 2048, without quotation marks\.$/,
    ],
    ['too many pixels', { ...PROMPT, width: 2048, height: 2048 }, /3145728 pixels/],
    ['a batch of none', { ...PROMPT, batch_size: 0 }, /^batch_size must be an integer from 1 to 4/],
    ['a batch of five', { ...PROMPT, batch_size: 5 }, /^batch_size must be an integer from 1 to 4/],
    ['half a step', { ...PROMPT, steps: 1.5 }, /^steps must be an integer from 1 to 100/],
    ['no steps', { ...PROMPT, steps: 0 }, /^steps must be an integer from 1 to 100/],
    ['101 steps', { ...PROMPT, steps: 101 }, /^steps must be an integer from 1 to 100/],
    ['negative guidance', { ...PROMPT, cfg_scale: -0.1 }, /^cfg_scale must be a number from 0 to 30/],
    ['guidance above 30', { ...PROMPT, cfg_scale: 30.5 }, /^cfg_scale must be a number from 0 to 30/],
    ['an unknown sampler', { ...PROMPT, sampler: 'euler-a' }, /^sampler must be one of: euler_a, /],
    ['a seed below -1', { ...PROMPT, seed: -2 }, /^seed must be an integer from 0 to 4294967295/],
    ['a seed above 2^32 - 1', { ...PROMPT, seed: 4294967296 }, /^seed must be an integer from 0 to 4294967295/],
    ['a fractional seed', { ...PROMPT, seed: 0.5 }, /^seed must be an integer/],
    ['a misspelt field', { ...PROMPT, cfgScale: 5 }, /^Unknown field "cfgScale": did you mean "cfg_scale"\?/],
    ['another service’s field', { ...PROMPT, num_images: 2 }, /did you mean "batch_size"\?/],
    ['a field that resembles none', { ...PROMPT, hovercraft: 1 }, /^Unknown field "hovercraft": remove it/],
    ['a misspelt prompt', { promt: 'x', model_version_id: 10 }, /did you mean "prompt"\?/],
    ['an array', [], /^The request body must be a JSON object/],
    ['null', 'null', /^The request body must be a JSON object/],
    ['broken JSON', '{"prompt":', /not valid JSON from line 1, column 11 on: send a JSON object/],
    [
      'a line break in a text',
      '{\n"prompt": "a\nb"}',
      /JSON from line 2, column 13 on: write a line break .* as \\n\.$/,
    ],
    [
      'JSON made text twice',
      JSON.stringify(JSON.stringify(PROMPT)),
      /^The request body must be a JSON object, not a text in quotation marks/,
    ],
    ['a field of JavaScript’s own', '{"prompt":"x","__proto__":{}}', /has a field "__proto__" or "constructor"/],
    ['nothing', '', /^The request body is empty: send a JSON object\.$/],
  ])('refuses %s with a 400, charging and keeping nothing', async (_name, body, sentence) => {
    const owner = await user()
    expectPersonalError(await submit(owner, body), 400, sentence)
    expect(await chargesOf(context.service.db, owner)).toEqual([])
    expect(await submit(owner, PROMPT)).toMatchObject({ status: 201 }) // no lock was left behind
  })

  it.each([[0], [-5], [999], [2 ** 53], [1e300]])('answers 404 for the model version %d, naming it', async (id) => {
    expectPersonalError(
      await submit(await user(), { prompt: 'x', model_version_id: id }),
      404,
      new RegExp(`${String(id).replace('+', '\\+')} not found`),
    )
  })

  it('answers 403 for a model version that is switched off, naming it, from the next request on', async () => {
    const { pool } = context.service.db
    const body = { ...PROMPT, model_version_id: 13 }
    expect((await submit(await user(), body)).status).toBe(201)
    await pool.query('UPDATE model_versions SET enabled = false WHERE id = 13')
    expectPersonalError(await submit(await user(), body), 403, /^Model version 13 is not available/)
  })

  it('charges a new price from the next request on', async () => {
    const { pool } = context.service.db
    const body = { ...PROMPT, model_version_id: 12 }
    expect((await submit(await user(), body)).body.credits_charged).toBe(1)
    await pool.query('UPDATE model_versions SET credits_per_image = 7 WHERE id = 12')
    expect((await submit(await user(), body)).body.credits_charged).toBe(7)
  })

  describe('whose body comes slowly', () => {
    /** Submits; `meanwhile` happens after the look-up of the key and a second before the body ends. */
    async function submitSlowly({ key }: GivenUser, asked: object, meanwhile: () => Promise<unknown>) {
      const { db, url } = context.service
      const body = JSON.stringify(asked)
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      const slow = request(`${url}/api/v1/generate`, { method: 'POST', headers })
      const answered = once(slow, 'response')
      slow.write(body.slice(0, 9))
      const looked = 'SELECT FROM api_keys WHERE last_used_at IS NOT NULL AND hash = $1'
      await until(async () => (await db.pool.query(looked, [hashApiKey(key)])).rowCount, 'the look-up of the key')
      await meanwhile()
      await delay(1000) // so long is what was read at the look-up good for
      slow.end(body.slice(9))
      const [answer] = await answered
      return { status: answer.statusCode, body: await json(answer) }
    }

    it('charges the price at the end of the body, not at its beginning', async () => {
      const { pool } = context.service.db
      const asked = { ...PROMPT, model_version_id: 11 }
      await submit(await user(), asked)
      const change = () => pool.query('UPDATE model_versions SET credits_per_image = 7 WHERE id = 11')
      expect((await submitSlowly(await user(), asked, change)).body).toMatchObject({ credits_charged: 7 })
    })

    it('counts a generation as active at the end of the body, not at its beginning', async () => {
      const { db } = context.service
      const owner = await user()
      const { id } = await givenGeneration(db, owner)
      const end = "UPDATE generations SET status = 'failed', error = 'over', finished_at = now() WHERE id = $1"
      expect(await submitSlowly(owner, PROMPT, () => db.pool.query(end, [id]))).toMatchObject({ status: 201 })
    })
  })

  it.each<[string, UserOptions, RegExp]>([
    ['there is none', { subscription: null }, /^No active subscription: get a plan to/],
    ['it was canceled', { subscription: { status: 'canceled' } }, /^No active subscription: renew your plan to/],
    ['it has ended', { subscription: { endDate: new Date(Date.now() - 1000) } }, /^No active subscription: renew/],
  ])('answers 403 without an active subscription: %s', async (_name, options, sentence) => {
    expectPersonalError(await submit(await user(options), PROMPT), 403, sentence)
  })

  it('answers 402 with the credits needed and held', async () => {
    const owner = await user({ credits: 3 })
    expectPersonalError(await submit(owner, { ...PROMPT, batch_size: 4 }), 402, /needs 4 and the account holds 3/)
    expect(await submit(owner, { ...PROMPT, batch_size: 3 })).toMatchObject({ status: 201 })
  })

  it('answers 429 while a generation is active, naming it, and says when to come back', async () => {
    const owner = await user()
    const first = await submit(owner, PROMPT)
    const answer = await submit(owner, PROMPT)
    expectPersonalError(answer, 429, new RegExp(`active generation \\(${first.body.id}\\)`))
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    // The way out for programs, which may have lost the first answer.
    expect(answer.headers.get('x-error-code')).toBe('active_generation')
    expect(answer.headers.get('x-active-generation')).toBe(first.body.id)
    expect(answer.headers.get('location')).toBe(first.body.poll_url)
    expect(await chargesOf(context.service.db, owner)).toHaveLength(1)
  })

  it('answers 400 for a flagged prompt, before it looks at the credits', async () => {
    const owner = await user({ credits: 0 })
    expectPersonalError(await submit(owner, { ...PROMPT, prompt: 'nsfw child' }), 400, /^Prompt flagged by moderation:/)
  })

  it('lets one of fifty submits at once through', async () => {
    const owner = await user()
    const answers = await Promise.all(Array.from({ length: 50 }, () => submit(owner, PROMPT)))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(49).fill(429)])
    expect(await chargesOf(context.service.db, owner)).toEqual([['charge', -1]])
  })

  it('checks in the specification’s order', async () => {
    const lapsed = await user({ subscription: null, credits: 0 })
    const flagged = 'nsfw child'
    // 400 body before 403 subscription before 404 model before 400 moderation.
    expectPersonalError(await submit(lapsed, { ...PROMPT, steps: 0, model_version_id: 999 }), 400, /^steps/)
    expectPersonalError(await submit(lapsed, { ...PROMPT, model_version_id: 999 }), 403, /^No active subscription/)
    const poor = await user({ credits: 0 })
    expectPersonalError(await submit(poor, { prompt: flagged, model_version_id: 999 }), 404, /^Model version 999/)
    // 429 active before 402 credits.
    const busy = await user({ credits: 1 })
    await givenGeneration(context.service.db, busy)
    expectPersonalError(await submit(busy, PROMPT), 429, /active generation/)
  })
})
