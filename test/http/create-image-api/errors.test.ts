import { describe, expect, it } from 'vitest'
import { SAMPLERS } from '../../../src/core/generations/generation.js'
import type { ClaimedGeneration } from '../../../src/core/generations/run/ports.js'
import { backendAbilities, backendRegistry } from '../../../src/db/generations/backends.js'
import { call, expectCreateError, PROMPT } from '../../support/client.js'
import {
  chargesOf,
  creditsOf,
  type GivenUser,
  givenGeneration,
  givenUser,
  type UserOptions,
} from '../../support/givens.js'
import { useService } from '../../support/service.js'
import { standInWorker } from '../../support/stand-in-worker.js'
import { until } from '../../support/until.js'

const context = useService({ env: { RATE_LIMIT_MAX: '1000' } })
const user = (options?: UserOptions) => givenUser(context.service.db, options)
const BODY = { prompt: 'a lighthouse at dusk' }
const FLAGGED = { prompt: 'nsfw child' }
const create = ({ key }: GivenUser, body: unknown = BODY, headers: Record<string, string> = {}) =>
  call(context.service.url, 'POST', '/v1/images/generate', { key, body, headers })

type StandInWorker = ReturnType<typeof standInWorker>

/** Brings the user's generation to its end, and those before it that other tests have left. */
async function finish(owner: GivenUser, end: (worker: StandInWorker, claimed: ClaimedGeneration) => Promise<void>) {
  const worker = standInWorker(context.service.db)
  for (;;) {
    const claimed = await worker.claim()
    if (claimed.accountId === owner.id) return end(worker, claimed)
    await worker.fail(claimed, 'left over')
  }
}

async function expectNoTrace({ id }: GivenUser) {
  const { pool } = context.service.db
  expect((await pool.query('SELECT 1 FROM generations WHERE user_id = $1', [id])).rows).toEqual([])
  expect(await chargesOf(context.service.db, { id })).toEqual([])
}

describe('Create Image refuses', () => {
  it('with 402 insufficient_credits, naming the credits needed and held', async () => {
    const owner = await user({ credits: 0 })
    expectCreateError(await create(owner), 402, 'insufficient_credits', /needs 1 and the account holds 0/)
    await expectNoTrace(owner)
  })

  it.each<[string, UserOptions]>([
    ['there is none', { subscription: null }],
    ['it was canceled', { subscription: { status: 'canceled' } }],
    ['it has ended', { subscription: { endDate: new Date(Date.now() - 1000) } }],
  ])('with 403 forbidden without an active subscription: %s', async (_name, options) => {
    const owner = await user(options)
    expectCreateError(await create(owner), 403, 'forbidden', /^No active subscription/)
    await expectNoTrace(owner)
  })

  it('with 403 forbidden for a model that is switched off, and 404 not_found for one that is not installed', async () => {
    const { pool } = context.service.db
    await pool.query(`UPDATE model_versions SET enabled = false WHERE create_image_model = 'duchaiten'`)
    await pool.query(`UPDATE model_versions SET create_image_model = NULL WHERE create_image_model = 'duchaiten-real'`)
    const owner = await user()
    const model = { parameter: 'model' }
    expectCreateError(
      await create(owner, { ...BODY, model: 'duchaiten' }),
      403,
      'forbidden',
      /"duchaiten" is not available/,
      model,
    )
    expectCreateError(
      await create(owner, { ...BODY, model: 'duchaiten-real' }),
      404,
      'not_found',
      /"duchaiten-real" is not installed/,
      model,
    )
    await expectNoTrace(owner)
  })

  it('with 400, before anything is charged, a sampler that no live GPU server has', async () => {
    const owner = await user()
    const body = { ...BODY, model: 'plant-milk', sampler: 'dpm-sde-karras' }
    const { db } = context.service
    const { rows } = await db.pool.query(`SELECT filename FROM model_versions WHERE create_image_model = 'plant-milk'`)
    const serves = { models: [rows[0].filename], samplers: ['euler_a'], maxSeed: 4294967295, sizeMultiple: 8 }
    await backendRegistry(db).announce('w', 'sd-server', true, serves)
    await db.pool.query(`UPDATE backends SET changed_at = now() - interval '61 seconds' WHERE worker = 'w'`)
    const refused = /^The sampler "dpm-sde-karras" is not available on the GPU servers\. Choose another sampler\.$/
    const parameter = { parameter: 'sampler' }
    expectCreateError(await create(owner, body), 400, 'invalid_parameter', refused, parameter)
    const openai = await call(context.service.url, 'POST', '/v1/images/generations', {
      key: owner.key,
      body: { ...body },
    })
    expect(openai).toMatchObject({
      status: 400,
      body: { error: { param: 'sampler', message: expect.stringMatching(refused) } },
    })
    await expectNoTrace(owner)
    const lacks = () => backendAbilities(db).isSamplerUnavailable(rows[0].filename, 'dpmpp_sde_karras')
    expect(await lacks()).toBe(true)
    await backendRegistry(db).announce('w', 'other', true, { ...serves, samplers: [...SAMPLERS] })
    expect(await lacks()).toBe(false)
    await db.pool.query('DELETE FROM backends')
    expect(await lacks()).toBe(false)
  })

  it.each([
    ['prompt', FLAGGED],
    ['negative_prompt', { prompt: 'nude portrait', model: 'wai-nsfw-illustrious', negative_prompt: 'adult' }],
  ])('with 400 content_policy_violation what moderation flags in the %s', async (parameter, body) => {
    const owner = await user()
    expectCreateError(await create(owner, body), 400, 'content_policy_violation', /^Prompt flagged by moderation:/, {
      parameter,
    })
    await expectNoTrace(owner)
  })

  it('with 429 rate_limit_exceeded while a generation of either interface is active, naming it', async () => {
    const { db, url } = context.service
    const owner = await user()
    const { id } = await givenGeneration(db, owner)
    const answer = await create(owner)
    expectCreateError(answer, 429, 'rate_limit_exceeded', new RegExp(`active generation \\(${id}\\)`), {
      retry_after: Number(answer.headers.get('retry-after')),
    })
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)

    const other = await user()
    const { id: created } = await givenGeneration(db, other, { lane: 'create_image' })
    const submitted = await call(url, 'POST', '/api/v1/generate', { key: other.key, body: PROMPT })
    expect(submitted).toMatchObject({
      status: 429,
      body: { error: expect.stringContaining(`active generation (${created})`) },
    })
  })

  it('with 409 idempotency_conflict while the first request with that Idempotency-Key has not been stored', async () => {
    const { db } = context.service
    const owner = await user()
    const headers = { 'idempotency-key': 'k' }
    const reserved = async () =>
      (await db.pool.query('SELECT 1 FROM idempotency_keys WHERE user_id = $1', [owner.id])).rowCount
    // The key is reserved before the generation is stored and charged, which has to wait.
    const holder = await db.pool.connect()
    await holder.query('BEGIN')
    await holder.query('LOCK TABLE credit_ledger IN ACCESS EXCLUSIVE MODE')
    const first = create(owner, BODY, headers)
    try {
      await until(reserved, 'the reservation')
      const still = { retry_after: 1 }
      expectCreateError(await create(owner, BODY, headers), 409, 'idempotency_conflict', /still being processed/, still)
      const another = { prompt: 'another' }
      expectCreateError(await create(owner, another, headers), 422, 'idempotency_conflict', /another request body/)
    } finally {
      await holder.query('ROLLBACK')
      holder.release()
    }
    await finish(owner, (worker, claimed) => worker.succeed(claimed))
    expect(await first).toMatchObject({ status: 200 })
  })

  it.each(['', ' ', 'x'.repeat(256)])(
    'with 400 invalid_parameter an Idempotency-Key that is not 1 to 255 characters long',
    async (key) => {
      const owner = await user()
      expectCreateError(
        await create(owner, BODY, { 'idempotency-key': key }),
        400,
        'invalid_parameter',
        /1 to 255 characters/,
        {
          parameter: 'Idempotency-Key',
        },
      )
      await expectNoTrace(owner)
    },
  )

  it('a wrong type, a large body and an unknown path in its envelope', async () => {
    const owner = await user()
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/xml',
    ]) {
      expectCreateError(
        await create(owner, 'prompt=x', { 'content-type': type }),
        415,
        'invalid_parameter',
        /application\/json/,
      )
    }
    expectCreateError(await create(owner, { prompt: 'x'.repeat(70_000) }), 413, 'invalid_parameter', /64 KiB/)
    const { url } = context.service
    for (const [method, path] of [
      ['POST', '/v1/images'],
      ['GET', '/v1'],
      ['GET', '/v1/'],
    ] as const) {
      expectCreateError(await call(url, method, path, { key: owner.key }), 404, 'not_found', /^No such endpoint: /)
    }
    await expectNoTrace(owner)
  })

  it('in the order of the contract', async () => {
    const { db } = context.service
    await db.pool.query(
      `UPDATE model_versions SET create_image_model = NULL WHERE create_image_model = 'hassaku-illustrious'`,
    )
    const absent = { model: 'hassaku-illustrious' }
    const lapsed = await user({ subscription: null, credits: 0 })
    expect(await create(lapsed, { ...FLAGGED, ...absent, steps: 0 })).toMatchObject({
      status: 400,
      body: { error: { parameter: 'steps' } },
    })
    expect(await create(lapsed, { ...FLAGGED, ...absent })).toMatchObject({ status: 403 })
    const poor = await user({ credits: 0 })
    expect(await create(poor, { ...FLAGGED, ...absent })).toMatchObject({ status: 404 })
    const busy = await user({ credits: 1 })
    await givenGeneration(db, busy)
    expect(await create(busy, FLAGGED)).toMatchObject({
      status: 400,
      body: { error: { code: 'content_policy_violation' } },
    })
    expect(await create(busy)).toMatchObject({ status: 429 })
  })
})

describe('a Create Image generation that fails', () => {
  it('is a 500 generation_failed with its reason, and gives the credit back', async () => {
    const { db } = context.service
    const owner = await user({ credits: 1 })
    const answer = create(owner)
    const reason = 'The GPU server ran out of memory: choose a smaller size.'
    await finish(owner, (worker, claimed) => worker.fail(claimed, reason))
    expectCreateError(
      await answer,
      500,
      'generation_failed',
      /^The GPU server ran out of memory: choose a smaller size\.$/,
    )
    expect(await chargesOf(db, owner)).toEqual([
      ['charge', -1],
      ['refund', 1],
    ])
    expect(await creditsOf(db, owner)).toBe(1)
  })

  it('for lack of a sampler names the sampler as it was asked for', async () => {
    const owner = await user()
    const answer = create(owner, { ...BODY, sampler: 'dpm-sde-karras' })
    const reason = 'The sampler "dpmpp_sde_karras" is not available on the GPU servers.'
    await finish(owner, (worker, claimed) => worker.fail(claimed, reason))
    expectCreateError(await answer, 500, 'generation_failed', /^The sampler "dpm-sde-karras" is not available/)
  })
})
