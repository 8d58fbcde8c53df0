import { createHash } from 'node:crypto'
import { rename, rm, writeFile } from 'node:fs/promises'
import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { SEED_MODELS } from '../../../src/core/catalog/model-version.js'
import { imageStore } from '../../../src/images/open-image-store.js'
import { call, expectPersonalError } from '../../support/client.js'
import { type GivenUser, givenUser } from '../../support/givens.js'
import { directoryOf } from '../../support/image-storage.js'
import { pngChunks } from '../../support/png-chunks.js'
import { useService } from '../../support/service.js'

const context = useService({ worker: true, inFiles: true, env: { RATE_LIMIT_MAX: '1000', INFERENCE_URL: 'preview:' } })
const ask = (method: string, { key }: GivenUser, path: string) =>
  call(context.service.url, method, `/api/v1/images${path}`, { key })
const get = (user: GivenUser, path = '') => ask('GET', user, path)
const ABSENT = '0123456789abcdefghijKL'

/** Made through Create Image, which answers when it is stored. */
async function givenImage({ key }: GivenUser, asked: object = {}): Promise<string> {
  const body = { prompt: 'a lighthouse', width: 256, height: 256, steps: 20, seed: 7, ...asked }
  const answer = await call(context.service.url, 'POST', '/v1/images/generate', { key, body })
  expect(answer.status).toBe(200)
  return answer.body.data.image_id
}

async function fileOf({ key }: GivenUser, id: string) {
  const response = await fetch(`${context.service.url}/api/v1/images/${id}/file`, {
    headers: { authorization: `Bearer ${key}` },
  })
  return { headers: response.headers, status: response.status, png: Buffer.from(await response.arrayBuffer()) }
}

const publicFileOf = (id: string) => imageStore(context.service.config).read(id)

describe('GET /api/v1/images', () => {
  it('shows the account’s images, newest first, in pages, and of one model version if asked', async () => {
    const { db } = context.service
    const user = await givenUser(db)
    await givenImage(await givenUser(db))
    const first = await givenImage(user)
    const second = await givenImage(user, { model: 'plant-milk' })
    const third = await givenImage(user)
    const { status, body } = await get(user)
    expect(status).toBe(200)
    expect(body.next_cursor).toBeNull()
    expect(body.images.map(({ id }: { id: string }) => id)).toEqual([third, second, first])
    const png = (await publicFileOf(second)) as Buffer
    expect(body.images[1]).toEqual({
      ...{ id: second, url: `http://easel.test/cdn/${second}.png`, page_url: `http://easel.test/image/${second}` },
      ...{ width: 256, height: 256, seed: 7, bytes: png.length },
      ...{ sha256: createHash('sha256').update(png).digest('hex'), model_version_id: 6, model_name: 'Plant Milk' },
      ...{ generation_id: expect.stringMatching(/^gen_/), created_at: expect.any(String) },
    })
    const paged = await get(user, '?limit=2')
    const fourth = await givenImage(user)
    const rest = await get(user, `?limit=2&cursor=${paged.body.next_cursor}`)
    expect([...paged.body.images, ...rest.body.images]).toEqual(body.images)
    expect(rest.body.next_cursor).toBeNull()
    expect((await get(user, '?model_version_id=6')).body.images).toEqual([body.images[1]])
    expect((await get(user)).body.images[0].id).toBe(fourth)
  })

  it('lists the images of a batch in their order, also where a page ends between them', async () => {
    const { db, url } = context.service
    const user = await givenUser(db)
    const body = { prompt: 'x', size: '256x256', steps: 20, n: 3, seed: 5 }
    expect(await call(url, 'POST', '/v1/images/generations', { key: user.key, body })).toMatchObject({ status: 200 })
    const one = await get(user, '?limit=2')
    const two = await get(user, `?limit=2&cursor=${one.body.next_cursor}`)
    const seeds = [...one.body.images, ...two.body.images].map(({ seed }: { seed: number }) => seed)
    expect(seeds).toEqual([5, 6, 7])
  })
})

describe('GET /api/v1/images/{id}', () => {
  it('shows all that the image was made from, and how the backend was asked', async () => {
    const user = await givenUser(context.service.db)
    const asked = { prompt: 'hills', negative_prompt: 'fog', cfg_scale: 5.5, sampler: 'ddim', model: 'plant-milk' }
    const id = await givenImage(user, asked)
    const { status, body } = await get(user, `/${id}`)
    expect(status).toBe(200)
    expect(body).toEqual({
      ...(await get(user)).body.images[0],
      ...{ prompt: 'hills', negative_prompt: 'fog', steps: 20, cfg_scale: 5.5, sampler: 'ddim' },
      filename: SEED_MODELS.find(({ id }) => id === 6)?.filename,
      made_with: { backend: 'preview', version: null, sampler: 'ddim', scheduler: null },
    })
  })

  it('answers the same 404 for another user’s image, for none, and for what is no ID', async () => {
    const { db } = context.service
    const [user, other] = [await givenUser(db), await givenUser(db)]
    const id = await givenImage(other)
    for (const path of [`/${id}`, `/${ABSENT}`, '/..%2f..%2fetc%2fpasswd', '/x']) {
      expectPersonalError(await get(user, path), 404, /^Image not found: check the ID\.$/)
      expectPersonalError(await get(user, `${path}/file`), 404, /^Image not found: check the ID\.$/)
      expectPersonalError(await ask('DELETE', user, path), 404, /^Image not found: check the ID\.$/)
    }
    expect(await get(other, `/${id}`)).toMatchObject({ status: 200 })
  })
})

/** Something else is where the images were. */
async function whileFilesAreAway(work: () => Promise<void>): Promise<void> {
  const directory = directoryOf(context.service.config)
  await rename(directory, `${directory}-away`)
  await writeFile(directory, '')
  try {
    await work()
  } finally {
    await rm(directory)
    await rename(`${directory}-away`, directory)
  }
}

describe('GET /api/v1/images/{id}/file', () => {
  it('adds the parameters to the image, which the public file does not have', async () => {
    const user = await givenUser(context.service.db)
    const prompt = 'a lighthouse, at dusk'
    const id = await givenImage(user, { prompt, negative_prompt: 'fog', sampler: 'dpm-2m-karras' })
    const { status, headers, png } = await fileOf(user, id)
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('image/png')
    expect(headers.get('cache-control')).toBe('private')
    expect(headers.get('content-disposition')).toBe(`attachment; filename="${id}.png"`)
    const { comments, width } = await sharp(png).metadata()
    expect(width).toBe(256)
    expect(comments?.find(({ keyword }) => keyword === 'parameters')?.text).toBe(
      [
        prompt,
        'Negative prompt: fog',
        'Steps: 20, Sampler: DPM++ 2M, Schedule type: Karras, CFG scale: 7, Seed: 7, Size: 256x256, ' +
          'Model: noobaiXL_v11, Version: preview',
      ].join('\n'),
    )
    const published = (await publicFileOf(id)) as Buffer
    expect(published.includes(prompt)).toBe(false)
    const others = pngChunks(png).filter(({ data }) => !data.toString('latin1').startsWith('parameters\0'))
    expect(others).toEqual(pngChunks(published))
  })

  it('answers 503 with a Retry-After while the storage is away', async () => {
    const user = await givenUser(context.service.db)
    const id = await givenImage(user)
    await whileFilesAreAway(async () => {
      const answer = await get(user, `/${id}/file`)
      expectPersonalError(answer, 503, /^The service is temporarily unavailable/)
      expect(answer.headers.get('retry-after')).toBe('5')
    })
  })

  it('holds a prompt in any script', async () => {
    const user = await givenUser(context.service.db)
    const prompt = '灯台 と 夕暮れ 🌊'
    const { png } = await fileOf(user, await givenImage(user, { prompt }))
    const { comments } = await sharp(png).metadata()
    expect(comments?.find(({ keyword }) => keyword === 'parameters')?.text).toMatch(new RegExp(`^${prompt}\nSteps: 20`))
  })
})

describe('DELETE /api/v1/images/{id}', () => {
  it('removes the file, lets the page say so, leaves the image out of lists, and may be repeated', async () => {
    const { db, url } = context.service
    const user = await givenUser(db)
    const id = await givenImage(user)
    const kept = await givenImage(user)
    expect(await ask('DELETE', user, `/${id}`)).toMatchObject({ status: 204, body: '' })
    expectPersonalError(await call(url, 'GET', `/cdn/${id}.png`), 404, /^This image was removed and is no longer /)
    expect(await call(url, 'GET', `/image/${id}`)).toMatchObject({ status: 410 })
    expectPersonalError(await get(user, `/${id}`), 404, /^Image not found/)
    expect((await get(user)).body.images.map((image: { id: string }) => image.id)).toEqual([kept])
    expect(await ask('DELETE', user, `/${id}`)).toMatchObject({ status: 204 })
    const { rows } = await db.pool.query('SELECT removed_reason FROM images WHERE slug = $1', [id])
    expect(rows).toEqual([{ removed_reason: 'Removed by its owner.' }])
  })

  it('answers 503 while the storage is away, and removes the file with the repeat', async () => {
    const { db, url } = context.service
    const user = await givenUser(db)
    const id = await givenImage(user)
    await whileFilesAreAway(async () => {
      const answer = await ask('DELETE', user, `/${id}`)
      expectPersonalError(answer, 503, /^The service is temporarily unavailable/)
      expect(answer.headers.get('retry-after')).toBe('5')
      expect(await call(url, 'GET', `/image/${id}`)).toMatchObject({ status: 410 })
    })
    expect(await ask('DELETE', user, `/${id}`)).toMatchObject({ status: 204 })
    expect(await publicFileOf(id)).toBeUndefined()
  })
})
