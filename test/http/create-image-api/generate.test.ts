import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { imageStore } from '../../../src/images/open-image-store.js'
import { type Answer, call, expectCreateError } from '../../support/client.js'
import { chargesOf, creditsOf, type GivenUser, givenUser } from '../../support/givens.js'
import { type Service, useService } from '../../support/service.js'
import { redisAvailable } from '../../support/services.js'

/** Small, so that it is painted quickly. */
const SMALL = { width: 256, height: 256, steps: 20 }

const env = { RATE_LIMIT_MAX: '1000', INFERENCE_URL: 'preview:' }

const createIn =
  (context: { readonly service: Service }) =>
  ({ key }: GivenUser, body: object, headers = {}): Promise<Answer> =>
    call(context.service.url, 'POST', '/v1/images/generate', { key, body, headers })

const expectIsoTime = (text: string) => expect(new Date(text).toISOString()).toBe(text)

for (const [mode, redis] of [
  ['with Redis', true],
  ['on one machine', false],
] as const) {
  describe.skipIf(redis && !redisAvailable)(`POST /v1/images/generate, ${mode}`, () => {
    const context = useService({ redis, worker: true, env })
    const create = createIn(context)

    it('answers 200 with exactly the spec’s fields once the image is stored, and charges a credit', async () => {
      const { db, config } = context.service
      const owner = await givenUser(db, { credits: 5 })
      const answer = await create(owner, {
        ...SMALL,
        prompt: 'a lighthouse at dusk',
        model: 'plant-milk',
        cfg_scale: 5.5,
        seed: 77,
      })
      expect(answer.status).toBe(200)
      const { image_id: slug, created_at: createdAt } = answer.body.data
      expect(answer.body).toEqual({
        success: true,
        data: {
          image_id: expect.stringMatching(/^[0-9A-Za-z]{22}$/),
          url: `http://easel.test/cdn/${slug}.png`,
          status: 'completed',
          parameters: {
            prompt: 'a lighthouse at dusk',
            model: 'plant-milk',
            steps: 20,
            cfg_scale: 5.5,
            width: 256,
            height: 256,
            seed: 77,
          },
          created_at: expect.any(String),
        },
      })
      expectIsoTime(createdAt)
      expect(answer.headers.get('idempotent-replayed')).toBeNull()
      expect(await creditsOf(db, owner)).toBe(4)
      expect(await chargesOf(db, owner)).toEqual([['charge', -1]])
      const stored = await imageStore(config).read(slug)
      expect(await sharp(stored).metadata()).toMatchObject({ format: 'png', width: 256, height: 256 })
      expect(await call(context.service.url, 'GET', `/cdn/${slug}.png`)).toMatchObject({ status: 200 })
    })

    it('takes the next request at once', async () => {
      const owner = await givenUser(context.service.db)
      for (let n = 0; n < 3; n++)
        expect(await create(owner, { prompt: `hills ${n}`, ...SMALL })).toMatchObject({ status: 200 })
    })
  })
}

describe('POST /v1/images/generate', () => {
  const context = useService({ worker: true, env })
  const create = createIn(context)

  it('fills in the defaults, and draws a seed for -1, for null and for none', async () => {
    const owner = await givenUser(context.service.db)
    for (const seed of [{ seed: -1 }, { seed: null }, {}]) {
      const { status, body } = await create(owner, { prompt: 'hills', ...SMALL, ...seed })
      expect(status).toBe(200)
      expect(body.data.parameters).toMatchObject({
        prompt: 'hills',
        model: 'noobai-xl',
        cfg_scale: 7,
        seed: expect.any(Number),
      })
      expect(body.data.parameters.seed).toBeGreaterThanOrEqual(0)
      expect(body.data.parameters.seed).toBeLessThanOrEqual(2147483644)
    }
  })

  it('makes the same image for the same seed', async () => {
    const owner = await givenUser(context.service.db)
    const pixels = async () => {
      const { body } = await create(owner, { prompt: 'hills', ...SMALL, seed: 5 })
      return sharp(await imageStore(context.service.config).read(body.data.image_id))
        .raw()
        .toBuffer()
    }
    expect((await pixels()).equals(await pixels())).toBe(true)
  })

  it('gives the first answer again for the same Idempotency-Key, charging once', async () => {
    const { db } = context.service
    const owner = await givenUser(db)
    const headers = { 'idempotency-key': 'k-1' }
    const first = await create(owner, { prompt: 'hills', ...SMALL }, headers)
    const again = await create(owner, { ...SMALL, prompt: 'hills' }, headers)
    expect(again).toMatchObject({ status: 200, body: first.body })
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(await chargesOf(db, owner)).toEqual([['charge', -1]])
    expectCreateError(
      await create(owner, { prompt: 'dunes', ...SMALL }, headers),
      422,
      'idempotency_conflict',
      /another request body/,
    )
  })

  it('answers 404 to a repeat whose image was removed since', async () => {
    const { db } = context.service
    const owner = await givenUser(db)
    const headers = { 'idempotency-key': 'k-2' }
    const { body } = await create(owner, { prompt: 'hills', ...SMALL }, headers)
    await db.pool.query('UPDATE images SET removed_at = now() WHERE slug = $1', [body.data.image_id])
    expectCreateError(await create(owner, { prompt: 'hills', ...SMALL }, headers), 404, 'not_found', /was removed/)
  })
})
