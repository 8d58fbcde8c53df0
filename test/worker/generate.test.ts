import { createHash } from 'node:crypto'
import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { startA1111StandIn } from '../stand-ins/a1111/a1111-stand-in.js'
import { call, endOf, PROMPT } from '../support/client.js'
import { chargesOf, givenUser } from '../support/givens.js'
import { startService, useService } from '../support/service.js'
import { redisAvailable } from '../support/services.js'

describe.each([
  ['Redis', true],
  ['one machine', false],
])('a generation whose queue and locks are on %s', (_mode, redis) => {
  const context = useService({ redis: redis && redisAvailable, worker: true, env: { RATE_LIMIT_MAX: '100000' } })

  it.skipIf(redis && !redisAvailable)('goes from prompt to image', async () => {
    const { service } = context
    const user = await givenUser(service.db)
    const submitted = await call(service.url, 'POST', '/api/v1/generate', {
      key: user.key,
      body: { ...PROMPT, batch_size: 2, seed: 4294967295, width: 256, height: 320 },
    })
    const done = await endOf(service, user, submitted.body.id)
    expect(done).toEqual({
      id: submitted.body.id,
      status: 'succeeded',
      output: {
        images: [
          { url: expect.any(String), id: expect.stringMatching(/^[0-9A-Za-z]{22}$/) },
          { url: expect.any(String), id: expect.stringMatching(/^[0-9A-Za-z]{22}$/) },
        ],
        seed: 4294967295,
      },
    })
    for (const { url, id } of done.output.images) {
      expect(url).toBe(`http://easel.test/cdn/${id}.png`)
      const image = Buffer.from(await (await fetch(`${service.url}/cdn/${id}.png`)).arrayBuffer())
      expect(await sharp(image).metadata()).toMatchObject({ format: 'png', width: 256, height: 320 })
      const { rows } = await service.db.pool.query('SELECT sha256, bytes, seed FROM images WHERE slug = $1', [id])
      expect(rows[0]).toMatchObject({
        sha256: createHash('sha256').update(image).digest('hex'),
        bytes: image.length,
      })
    }
    const { rows } = await service.db.pool.query('SELECT seed FROM images WHERE generation_id = $1 ORDER BY idx', [
      done.id,
    ])
    expect(rows).toEqual([{ seed: 4294967295 }, { seed: 0 }])
    expect(await chargesOf(service.db, user)).toEqual([['charge', -2]])
  })

  it.skipIf(redis && !redisAvailable)('leaves its account free for the next one when it has ended', async () => {
    const { service } = context
    const user = await givenUser(service.db)
    for (let i = 0; i < 3; i++) {
      const submitted = await call(service.url, 'POST', '/api/v1/generate', {
        key: user.key,
        body: { ...PROMPT, width: 256, height: 256 },
      })
      expect(submitted.status).toBe(201)
      expect(await endOf(service, user, submitted.body.id)).toMatchObject({ status: 'succeeded' })
    }
  })

  it.skipIf(redis && !redisAvailable)('comes back in the one answer of Create Image', async () => {
    const { service } = context
    const user = await givenUser(service.db, { developer: { concurrency: 4 }, credits: 0, subscription: null })
    const { status, body } = await call(service.url, 'POST', '/v1/images/generate', {
      key: user.key,
      body: { prompt: 'a lighthouse', width: 256, height: 256, seed: 5 },
    })
    expect(status).toBe(200)
    expect(body).toEqual({
      success: true,
      data: {
        image_id: expect.stringMatching(/^[0-9A-Za-z]{22}$/),
        url: expect.stringMatching(/^http:\/\/easel\.test\/cdn\//),
        status: 'completed',
        parameters: {
          prompt: 'a lighthouse',
          model: 'noobai-xl',
          steps: 28,
          cfg_scale: 7,
          width: 256,
          height: 256,
          seed: 5,
        },
        created_at: expect.any(String),
      },
    })
  })
})

describe('a worker on an A1111 server', () => {
  it('publishes the image that the server draws, without the server’s metadata', async () => {
    const gpu = await startA1111StandIn({ models: ['ponyDiffusionV6XL.safetensors'] })
    try {
      const service = await startService({
        worker: true,
        env: { INFERENCE_URL: gpu.inferenceUrl, RATE_LIMIT_MAX: '100000' },
      })
      try {
        const user = await givenUser(service.db)
        const submitted = await call(service.url, 'POST', '/api/v1/generate', {
          key: user.key,
          body: { ...PROMPT, width: 256, height: 320, seed: 77 },
        })
        const done = await endOf(service, user, submitted.body.id)
        expect(done.status).toBe('succeeded')
        const [{ id }] = done.output.images
        const image = Buffer.from(await (await fetch(`${service.url}/cdn/${id}.png`)).arrayBuffer())
        expect(await sharp(image).metadata()).toMatchObject({ width: 256, height: 320 })
        expect(image.includes('lighthouse')).toBe(false)
        expect(image.includes('trainedAlgorithmicMedia')).toBe(true)
      } finally {
        await service.close()
      }
    } finally {
      await gpu.close()
    }
  })
})
