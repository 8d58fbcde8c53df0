/** Workers that hold no key of the bucket: the server signs each of their puts. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { newSlug } from '../../src/core/generations/generation.js'
import { imageStore } from '../../src/images/open-image-store.js'
import { imageStoreViaServer } from '../../src/images/upload-via-server.js'
import { call, endOf, PROMPT } from '../support/client.js'
import { givenGeneration, givenKey, givenUser } from '../support/givens.js'
import { type Handled, refuse, type S3Server, startS3 } from '../support/s3-server.js'
import { useService } from '../support/service.js'
import { standInWorker } from '../support/stand-in-worker.js'
import { within } from '../support/until.js'

const secret = 'a secret of servers and workers, long enough'
const NO_KEY = { S3_ACCESS_KEY_ID: '', S3_SECRET_ACCESS_KEY: '' }
const png = Buffer.from('the bytes of an image')

const directory = await mkdtemp(join(tmpdir(), 'easel-uploads-'))
let s3: S3Server
beforeAll(async () => {
  s3 = await startS3(directory)
})
afterAll(async () => {
  await s3.close()
  await rm(directory, { recursive: true, force: true, maxRetries: 20 })
})
const context = useService(async () => ({
  env: { ...(await s3.env('easel')), UPLOAD_VIA: 'server', UPLOAD_SECRET: secret, RATE_LIMIT_MAX: '1000' },
}))
const storeOf = (more: Partial<Parameters<typeof imageStoreViaServer>[0]> = {}) =>
  imageStoreViaServer({ url: context.service.url, secret, cdnBaseUrl: 'https://cdn.example', ...more })

async function givenAttempt() {
  const { db } = context.service
  const given = await givenGeneration(db, await givenUser(db))
  const { id, attempt, slugs } = await standInWorker(db).claim()
  expect(id).toBe(given.id)
  return { by: { id, attempt }, slug: slugs[0] as string }
}

it('a worker without a key of the bucket draws, stores and verifies an image', async () => {
  const { service } = context
  await service.worker({}, { ...NO_KEY, BASE_URL: service.url, INFERENCE_URL: 'preview:' })
  const user = await givenUser(service.db)
  const body = { ...PROMPT, width: 256, height: 256, steps: 1 }
  const { body: submitted } = await call(service.url, 'POST', '/api/v1/generate', { key: user.key, body })
  const ended = await endOf(service, user, submitted.id)
  expect(ended).toMatchObject({ status: 'succeeded' })
  const [image] = (ended.output as { images: { id: string }[] }).images
  expect(await call(service.url, 'GET', `/cdn/${image?.id}.png`)).toMatchObject({ status: 200 })
  expect(await call(service.url, 'GET', `/cdn/${image?.id}.webp`)).toMatchObject({ status: 200 })
  await service.endWorkers() // it would claim what the tests below give to a stand-in
})

describe('the image store of a worker without a key of the bucket', () => {
  it('stores, replaces what an earlier attempt left, and removes', async () => {
    const [store, stored] = [storeOf(), imageStore(context.service.config)]
    await store.check()
    const { by, slug } = await givenAttempt()
    expect(await store.put(slug, Buffer.from('an earlier attempt'), { by })).toBe(true)
    expect(await store.put(slug, png, { by, thumbnail: Buffer.from('small') })).toBe(true)
    expect([await stored.read(slug), await stored.readThumbnail(slug)]).toEqual([png, Buffer.from('small')])
    await store.remove(slug)
    expect(await stored.exists(slug)).toBe(false)
  })

  it('stores in a bucket that forbids the server to look at what is not there', async () => {
    s3.hidesMissing = true
    onTestFinished(() => {
      s3.hidesMissing = false
    })
    await storeOf().check()
    await call(context.service.url, 'POST', '/internal/uploads/check', { key: secret, body: {} })
    const { by, slug } = await givenAttempt()
    expect(await storeOf().put(slug, Buffer.from('an earlier attempt'), { by })).toBe(true)
    expect(await storeOf().put(slug, png, { by, thumbnail: Buffer.from('small') })).toBe(true)
    expect(await imageStore(context.service.config).read(slug)).toEqual(png)
  })

  it('can remove no image that is published', async () => {
    const { by, slug } = await givenAttempt()
    await storeOf().put(slug, png, { by })
    await context.service.db.pool.query(
      `INSERT INTO images (slug, generation_id, idx, seed, width, height, bytes, sha256)
       VALUES ($1, $2, 0, 1, 8, 8, 1, 'x')`,
      [slug, by.id],
    )
    await storeOf().remove(slug)
    expect(await imageStore(context.service.config).read(slug)).toEqual(png)
  })

  it('says what is wrong with the server, the secret or the bucket', async () => {
    onTestFinished(() => {
      s3.fault = undefined
    })
    const { by, slug } = await givenAttempt()
    const { url } = context.service
    await expect(storeOf({ secret: 'x'.repeat(40) }).put(slug, png, { by })).rejects.toThrow(
      `The server at ${url} refuses this worker: give both the same UPLOAD_SECRET.`,
    )
    await expect(storeOf({ url: 'http://127.0.0.1:1' }).check()).rejects.toThrow(
      'The server at http://127.0.0.1:1 cannot be asked for uploads (ECONNREFUSED): check the network',
    )
    s3.fault = (_, response) => refuse(response, 500, 'InternalError')
    await expect(storeOf().check()).rejects.toThrow(
      `The server at ${url} answered 503 to an upload: The bucket "easel" answered a PUT with an error (500 InternalError)`,
    )
    s3.fault = (request, response) =>
      request.url?.includes('X-Amz-Expires') ? refuse(response, 500, 'InternalError') : 'pass'
    await expect(storeOf().put(slug, png, { by })).rejects.toThrow('refused an upload (500 InternalError)')
    // As S3 and MinIO say it where the server's clock is slow, and fast.
    for (const words of ['Request has expired', 'Request is not valid yet']) {
      s3.fault = (request, response) =>
        request.url?.includes('X-Amz-Expires') ? refuse(response, 403, 'AccessDenied', words) : 'pass'
      await expect(storeOf().put(slug, png, { by })).rejects.toThrow(
        `takes no upload that was signed by the wrong clock: correct that of the server at ${url}.`,
      )
    }
  })
})

it('a worker without a key of the bucket gives up a server that does not answer, and says so', async () => {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const asked = once(server, 'request')
  const refused = expect(storeOf({ url }).check()).rejects.toThrow(
    `The server at ${url} cannot be asked for uploads (no answer in time): check the network`,
  )
  await asked
  await vi.advanceTimersByTimeAsync(20_000)
  vi.useRealTimers()
  await within(60_000, refused, 'the end of the wait')
})

describe('a server that signs uploads', () => {
  const bodyOf = (by: object, slug: string, more: object = {}) => {
    const sha256 = createHash('sha256').update(png).digest('base64')
    return { ...by, file: `${slug}.png`, bytes: png.length, sha256, ...more }
  }
  const ask = (body: object, key = secret) => call(context.service.url, 'POST', '/internal/uploads', { key, body })

  it('signs nothing without the secret, and has no address for uploads unless it is set up for them', async () => {
    const { by, slug } = await givenAttempt()
    const user = await givenUser(context.service.db)
    for (const key of [user.key, `${secret}x`, secret.slice(1), ''])
      expect(await ask(bodyOf(by, slug), key)).toMatchObject({ status: 401 })
    const other = await context.service.server({}, { UPLOAD_VIA: '' })
    expect(await call(other.url, 'POST', '/internal/uploads', { key: secret, body: {} })).toMatchObject({ status: 404 })
    await expect(storeOf({ url: other.url }).check()).rejects.toThrow(
      `The server at ${other.url} takes no uploads: set UPLOAD_VIA=server there, too, and let its proxy pass /internal/uploads.`,
    )
    const { paths } = (await call(context.service.url, 'GET', '/openapi.json')).body
    expect(Object.keys(paths).filter((path) => path.includes('uploads'))).toEqual([])
  })

  it('signs for the running attempt and its own images only', async () => {
    const { db } = context.service
    const [{ by, slug }, other] = [await givenAttempt(), await givenAttempt()]
    expect(await ask(bodyOf(by, slug))).toMatchObject({ status: 200 })
    for (const body of [
      bodyOf(by, other.slug),
      bodyOf(by, newSlug()),
      bodyOf({ ...by, attempt: by.attempt + 1 }, slug),
      bodyOf({ ...by, id: 'gen_none' }, slug),
    ])
      expect(await ask(body)).toMatchObject({ status: 409 })
    for (const wrong of [
      { file: '../x' },
      ...[0, -1, 1.5, 2 ** 31, 2 ** 53, 1e300, '1'].map((attempt) => ({ attempt })),
    ])
      expect(await ask(bodyOf(by, slug, wrong))).toMatchObject({ status: 400 })
    for (const id of ['\0', 'gen_\ud800']) expect(await ask(bodyOf({ ...by, id }, slug))).toMatchObject({ status: 400 })
    await db.pool.query(
      `UPDATE generations SET status = 'queued', attempt = attempt + 1, lease_until = NULL,
              not_before = now() + interval '1 hour' WHERE id = $1`,
      [by.id],
    )
    expect(await ask(bodyOf(by, slug))).toMatchObject({ status: 409 })
  })

  it('signs the probes of a worker, which no attempt has drawn, and removes them', async () => {
    const file = `.probe.${'0123456789abcdef'}.png`
    const answer = await ask(bodyOf({}, '', { file }))
    expect(answer.status).toBe(200)
    const { url, headers } = answer.body as { url: string; headers: Record<string, string> }
    const { 'content-length': _, ...rest } = headers
    expect((await fetch(url, { method: 'PUT', headers: rest, body: png })).status).toBe(200)
    const at = (method: string, name: string) =>
      call(context.service.url, method, `/internal/uploads/${name}`, { key: secret })
    expect((await at('GET', file)).body.found.bytes).toBe(png.length)
    expect((await at('DELETE', file)).status).toBe(204)
    expect((await at('GET', file)).body).toEqual({ found: null })
    for (const wrong of ['.probe.png', `x${file}`, '.probe.0123456789abcdef.gif'])
      expect(await ask(bodyOf({}, '', { file: wrong }))).toMatchObject({ status: 400 })
    expect(await ask(bodyOf({}, newSlug()))).toMatchObject({ status: 409 })
  })

  it('signs exactly these bytes, their type and their length, for a short time, and counts no request against the limit', async () => {
    const { by, slug } = await givenAttempt()
    const answer = await ask(bodyOf(by, slug))
    expect([answer.status, answer.headers.get('x-ratelimit-limit')]).toEqual([200, null])
    const { url, headers } = answer.body as { url: string; headers: Record<string, string> }
    const signed = new URL(url).searchParams
    expect(Number(signed.get('X-Amz-Expires'))).toBeLessThanOrEqual(300)
    const put = async (sent: object, body = png) => {
      const { 'content-length': _, ...rest } = { ...headers, ...sent } as Record<string, string>
      return (await fetch(url, { method: 'PUT', headers: rest, body })).status
    }
    expect(await put({}, Buffer.from('other bytes'))).toBe(403) // the length
    expect(await put({}, Buffer.from(png).fill(0))).toBe(400) // the checksum
    const other = createHash('sha256').update('other bytes').digest('base64')
    expect(await put({ 'x-amz-checksum-sha256': other })).toBe(403)
    expect(await put({ 'content-type': 'text/html' })).toBe(403)
    expect(await put({ 'if-match': '' })).toBe(403)
    expect(await put({ 'if-match': '*' })).toBe(403)
    const { 'content-length': _, ...signedHeaders } = headers
    for (const [method, target] of [
      ['GET', url],
      ['DELETE', url],
      ['PUT', url.replace(slug, newSlug())],
      ['PUT', url.replace('.png?', '.webp?')],
      ['PUT', url.replace('X-Amz-Expires=120', 'X-Amz-Expires=86400')],
      ['PUT', `${url}&x-id=Other`],
    ] as const) {
      const body = method === 'PUT' ? png : null
      expect((await fetch(target, { method, headers: signedHeaders, body })).status).toBe(403)
    }
    expect(await put({})).toBe(200)
    expect(await put({})).toBe(412) // once only: it must not replace what is published meanwhile
  })

  const signature = async (by: object, slug: string, more: object = {}) => {
    const { status, body } = await ask(bodyOf(by, slug, more))
    expect(status).toBe(200)
    const { 'content-length': _, ...headers } = body.headers as Record<string, string>
    return async () => (await fetch(body.url as string, { method: 'PUT', headers, body: png })).status
  }

  const cancel = async ({ id }: { readonly id: string }) => {
    const { db, url } = context.service
    const { rows } = await db.pool.query('SELECT user_id AS "userId" FROM generations WHERE id = $1', [id])
    const { key } = await givenKey(db, rows[0].userId)
    const canceled = await call(url, 'POST', `/api/v1/generate/${id}/cancel`, { key })
    expect(canceled).toMatchObject({ status: 200, body: { status: 'failed' } })
  }

  it('signs nothing for an attempt that is canceled while it asks, and leaves nothing in the bucket', async () => {
    const { by, slug } = await givenAttempt()
    s3.fault = async ({ method }): Promise<Handled> => {
      if (method !== 'PUT') return 'pass'
      s3.fault = undefined
      await cancel(by) // before the reservation is there
      return 'pass'
    }
    expect(await ask(bodyOf(by, slug))).toMatchObject({ status: 409 })
    expect(await imageStore(context.service.config).exists(slug)).toBe(false)
  })

  it('lets none of them be stored after a cancellation', async () => {
    const { service } = context
    const { by, slug } = await givenAttempt()
    const [image, thumbnail] = [await signature(by, slug), await signature(by, slug, { file: `${slug}.webp` })]
    await cancel(by)
    // Amazon's answer to a condition on what is not there.
    for (const put of [image, thumbnail]) expect([404, 412]).toContain(await put())
    expect(await imageStore(service.config).exists(slug)).toBe(false)
  })

  it('lets only the newest of them be stored, of whichever attempt, and replaces what the worker says is there by nothing', async () => {
    const { by, slug } = await givenAttempt()
    const [older, newer] = [await signature(by, slug), await signature(by, slug, { replaces: '"anything"' })]
    expect([await older(), await newer(), await newer()]).toEqual([412, 200, 412])
    const again = await signature(by, slug)
    expect(await imageStore(context.service.config).read(slug)).toEqual(png) // the same bytes: nothing is in their place
    expect(await again()).toBe(200)
  })

  it('signs nothing that would replace a published image', async () => {
    const { by, slug } = await givenAttempt()
    const put = await signature(by, slug)
    expect(await put()).toBe(200)
    const { etag } = (await call(context.service.url, 'GET', `/internal/uploads/${slug}.png`, { key: secret })).body
      .found
    await context.service.db.pool.query(
      `INSERT INTO images (slug, generation_id, idx, seed, width, height, bytes, sha256)
       VALUES ($1, $2, 0, 1, 8, 8, 1, 'x')`,
      [slug, by.id],
    )
    expect(await ask(bodyOf(by, slug, { replaces: etag }))).toMatchObject({ status: 409 })
    expect(await ask(bodyOf(by, slug, { replaces: etag, file: `${slug}.webp` }))).toMatchObject({ status: 409 })
    expect(await put()).toBe(412)
    expect(await imageStore(context.service.config).read(slug)).toEqual(png)
  })
})
