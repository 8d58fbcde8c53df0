import { afterAll, describe, expect, it } from 'vitest'
import { whenAborted } from '../../../src/lib/abort-signals.js'
import { call, expectCreateError, expectPersonalError, PROMPT } from '../../support/client.js'
import { chargesOf, type GivenUser, givenUser } from '../../support/givens.js'
import { startHeldModeration } from '../../support/held-moderation.js'
import { useService } from '../../support/service.js'
import { until } from '../../support/until.js'

const moderation = await startHeldModeration()
afterAll(() => moderation.refuse())
const context = useService({ env: { RATE_LIMIT_MAX: '1000', MODERATION_URL: moderation.url } })

const user = (options: Parameters<typeof givenUser>[1] = {}) => givenUser(context.service.db, options)
const post = (path: string) => (owner: GivenUser, body: object, idempotencyKey: string) =>
  call(context.service.url, 'POST', path, { key: owner.key, body, headers: { 'idempotency-key': idempotencyKey } })
const submit = post('/api/v1/generate')
const create = post('/v1/images/generate')

describe('an Idempotency-Key on submit', () => {
  it('gives the first answer again, and charges once', async () => {
    const owner = await user()
    const first = await submit(owner, PROMPT, 'order-1')
    const again = await submit(owner, { model_version_id: 10, prompt: PROMPT.prompt }, 'order-1')
    expect(again).toMatchObject({ status: 201, body: first.body })
    expect(first.headers.get('idempotent-replayed')).toBeNull()
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(again.headers.get('x-credits-remaining')).toBe(first.headers.get('x-credits-remaining'))
    expect(await chargesOf(context.service.db, owner)).toEqual([['charge', -1]])
  })

  it('is each user’s own: two users may send the same key', async () => {
    const [one, two] = [await user(), await user()]
    await submit(one, PROMPT, 'shared')
    expect(await submit(two, { ...PROMPT, steps: 20 }, 'shared')).toMatchObject({ status: 201 })
  })

  it('keeps no refusal: the next request with it is looked at anew', async () => {
    const owner = await user({ credits: 0 })
    expect(await submit(owner, PROMPT, 'k')).toMatchObject({ status: 402 })
    await context.service.db.pool.query('UPDATE users SET credits = 5 WHERE id = $1', [owner.id])
    expect(await submit(owner, PROMPT, 'k')).toMatchObject({ status: 201 })
  })

  it('stores one generation for many repeats at once', async () => {
    const owner = await user()
    const answers = await Promise.all(Array.from({ length: 20 }, () => submit(owner, PROMPT, 'race')))
    const created = answers.filter(({ status }) => status === 201)
    expect(new Set(created.map(({ body }) => body.id)).size).toBe(1)
    expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true)
    expect(await chargesOf(context.service.db, owner)).toEqual([['charge', -1]])
  })

  it('gives a client that hung up the answer that it has not waited for', async () => {
    const { db, url } = context.service
    const owner = await user()
    const [hangUp, held] = [new AbortController(), new AbortController()]
    let arrived = false
    moderation.before(async () => {
      arrived = true
      await whenAborted(held.signal)
    })
    const { signal } = hangUp
    const headers = { 'idempotency-key': 'lost' }
    const lost = call(url, 'POST', '/api/v1/generate', { key: owner.key, body: PROMPT, headers, signal })
    const refused = expect(lost).rejects.toThrow(/abort/)
    await until(() => arrived, 'moderation')
    hangUp.abort()
    await refused
    moderation.before()
    held.abort()
    const again = await until(async () => {
      const answer = await submit(owner, PROMPT, 'lost')
      return answer.status !== 409 && answer
    }, 'the end of what is in flight')
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true'])
    expect(await chargesOf(db, owner)).toEqual([['charge', -1]])
  })

  it.each(['', ' ', 'x'.repeat(256)])('must have 1 to 255 characters', async (key) => {
    expectPersonalError(await submit(await user(), PROMPT, key), 400, /1 to 255 characters/)
  })
})

describe('an Idempotency-Key that came with another request', () => {
  const personal = { ...PROMPT, negative_prompt: 'n', width: 832, height: 832, batch_size: 1, steps: 20 }
  it.each([
    ['prompt', 'another lighthouse'],
    ['negative_prompt', 'm'],
    ['model_version_id', 11],
    ['width', 840],
    ['height', 840],
    ['batch_size', 2],
    ['steps', 21],
    ['cfg_scale', 8],
    ['sampler', 'euler'],
    ['seed', 5],
  ])('is a 422 when only %s differs', async (field, value) => {
    const owner = await user()
    await submit(owner, personal, 'k')
    expectPersonalError(await submit(owner, { ...personal, [field]: value }, 'k'), 422, /another request body/)
  })

  const drawing = { prompt: 'a lighthouse', width: 832, height: 832, webhook_url: 'https://example.com/a' }
  it.each([
    ['prompt', 'another lighthouse'],
    ['negative_prompt', 'n'],
    ['model', 'plant-milk'],
    ['width', 840],
    ['height', 840],
    ['steps', 30],
    ['cfg_scale', 8],
    ['sampler', 'ddim'],
    ['seed', 5],
    ['webhook_url', 'https://example.com/b'],
  ])('is a 422 on Create Image when only %s differs', async (field, value) => {
    const owner = await user()
    expect(await create(owner, drawing, 'k')).toMatchObject({ status: 202 })
    const answer = await create(owner, { ...drawing, [field]: value }, 'k')
    expectCreateError(answer, 422, 'idempotency_conflict', /another request body/)
  })

  it('is a 422 on the other interface', async () => {
    const [one, two] = [await user(), await user()]
    await submit(one, PROMPT, 'k')
    expectCreateError(await create(one, drawing, 'k'), 422, 'idempotency_conflict', /another request body/)
    await create(two, drawing, 'k')
    expectPersonalError(await submit(two, PROMPT, 'k'), 422, /another request body/)
  })
})

describe('an Idempotency-Key whose submit failed and stored nothing', () => {
  const nsfw = { prompt: PROMPT.prompt, model: 'wai-nsfw-illustrious', webhook_url: 'https://example.com/a' }
  const begin = async () => {
    const client = await context.service.db.pool.connect()
    await client.query('BEGIN')
    const end = async () => {
      await client.query('ROLLBACK')
      client.release()
    }
    return { client, end }
  }

  it('is free again at once when moderation was unavailable', async () => {
    const owner = await user()
    await moderation.refuse()
    expect(await create(owner, nsfw, 'k')).toMatchObject({ status: 503 })
    await moderation.accept()
    expect(await create(owner, nsfw, 'k')).toMatchObject({ status: 202 })
    expect(await chargesOf(context.service.db, owner)).toEqual([['charge', -1]])
  })

  it('is free again at once when Postgres had no lock for it in time', async () => {
    const owner = await user()
    const other = await begin()
    await other.client.query('SELECT FROM users WHERE id = $1 FOR NO KEY UPDATE', [owner.id])
    expect(await submit(owner, PROMPT, 'k')).toMatchObject({ status: 503 })
    await other.end()
    expect(await submit(owner, PROMPT, 'k')).toMatchObject({ status: 201 })
    expect(await chargesOf(context.service.db, owner)).toEqual([['charge', -1]])
  })

  it('is freed later when it could not be freed at once', async () => {
    const owner = await user()
    const other = await begin()
    moderation.before(async () => {
      await other.client.query('SELECT FROM idempotency_keys WHERE user_id = $1 FOR UPDATE', [owner.id])
      throw new Error('moderation breaks off')
    })
    expect(await create(owner, nsfw, 'k')).toMatchObject({ status: 503 })
    moderation.before()
    await other.end()
    const held = () => context.service.db.pool.query('SELECT FROM idempotency_keys WHERE user_id = $1', [owner.id])
    await until(async () => (await held()).rowCount === 0, 'the key to be freed')
  })
})
