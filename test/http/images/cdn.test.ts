import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newSlug } from '../../../src/core/generations/generation.js'
import { createImageStore } from '../../../src/images/open-image-store.js'
import { call, expectPersonalError } from '../../support/client.js'
import { givenImages } from '../../support/given-images.js'
import { givenUser } from '../../support/givens.js'
import { directoryOf } from '../../support/image-storage.js'
import { sendRaw } from '../../support/raw-http.js'
import { refuse, type S3Server, startS3 } from '../../support/s3-server.js'
import { type Service, startService, useService } from '../../support/service.js'

const PNG = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(5000, 7)])
const THUMBNAIL = Buffer.from('RIFF a smaller one')
const slug = newSlug()

let directory: string
let s3: S3Server
/** Of the describe that runs. */
let service: Service
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'easel-cdn-'))
  s3 = await startS3(join(directory, 's3'))
})
afterAll(async () => {
  await s3.close()
  await rm(directory, { recursive: true, force: true, maxRetries: 20 })
})

const inFiles = useService({ inFiles: true })
const inBucket = useService(async () => ({ env: await s3.env('cdn') }))

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${service.url}${path}`, { method, headers })

const IMAGE_HEADERS = {
  'content-type': 'image/png',
  'cache-control': 'public, max-age=31536000, immutable',
  'x-content-type-options': 'nosniff',
  'access-control-allow-origin': '*',
  'cross-origin-resource-policy': 'cross-origin',
  'content-security-policy': "default-src 'none'; sandbox",
}

/** Of an answer that a cache in between might keep apart from others. */
const FOR_BROWSERS = { 'cache-control': 'private, max-age=31536000, immutable' }

function expectImageHeaders(headers: Headers, others = {}) {
  for (const [name, value] of Object.entries({ ...IMAGE_HEADERS, ...others }))
    expect(headers.get(name), name).toBe(value)
}

describe.each([
  ['a directory', inFiles, (name: string) => join(directoryOf(service.config), name)],
  ['a bucket', inBucket, (name: string) => join(directory, 's3/cdn/images', `${name}._S3rver_object`)],
])('GET /cdn/<slug>.png from %s', (_store, context, placeOf) => {
  beforeAll(async () => {
    service = context.service
    const images = await createImageStore(service.config)
    await images.put(slug, PNG, { thumbnail: THUMBNAIL })
    // What must never be reached: beside the images, below them, and under names that are no image's.
    await mkdir(dirname(placeOf('below/x')), { recursive: true })
    for (const name of ['secret.txt', `${'a'.repeat(22)}.txt`, `.${slug}.0123456789abcdef.tmp`, `below/${slug}.png`])
      await writeFile(placeOf(name), 'secret')
  })

  it('serves the image to anyone, with headers to keep it for ever and show it anywhere', async () => {
    const answer = await get(`/cdn/${slug}.png`)
    expect(answer.status).toBe(200)
    expectImageHeaders(answer.headers)
    expect(answer.headers.get('content-length')).toBe(String(PNG.length))
    expect(Buffer.from(await answer.arrayBuffer()).equals(PNG)).toBe(true)
  })

  it('lets nobody keep it under another URL, from which nobody would drop it', async () => {
    const escaped = `%${slug.charCodeAt(0).toString(16)}${slug.slice(1)}`
    for (const path of [`${slug}.png?x=1`, `${slug}.webp?x=1`, `${escaped}.png`]) {
      const { status, headers } = await get(`/cdn/${path}`)
      expect([path, status, headers.get('cache-control')]).toEqual([path, 200, 'private, no-store'])
      expect(headers.get('access-control-allow-origin')).toBe('*')
    }
  })

  it('lets caches keep only what came without a header that they might keep it apart by, and browsers keep each', async () => {
    for (const headers of [
      { origin: 'https://a.example' },
      { origin: 'null' },
      { range: 'bytes=0-7' },
      { range: 'lines=1-2' },
      { cookie: 'anything=1' },
      { authorization: 'Basic eDp5' },
    ])
      for (const path of [`/cdn/${slug}.png`, `/cdn/${slug}.webp`])
        for (const method of ['GET', 'HEAD']) {
          const answer = await get(path, headers, method)
          const said = ['cache-control', 'access-control-allow-origin', 'vary'].map((it) => answer.headers.get(it))
          expect([headers, ...said]).toEqual([headers, 'private, max-age=31536000, immutable', '*', null])
        }
    const plain = { accept: 'image/*', 'accept-language': 'de', 'user-agent': 'x', referer: 'https://a.example/' }
    const { headers } = await get(`/cdn/${slug}.png`, plain)
    expect([headers.get('cache-control'), headers.get('vary')]).toEqual([IMAGE_HEADERS['cache-control'], null])
  })

  it('is downloaded under its name where a page asks for that, and no cache keeps that answer', async () => {
    for (const name of [`${slug}.png`, `${slug}.webp`])
      for (const query of ['download=1', 'download', 'download=1&download=2']) {
        const { status, headers } = await get(`/cdn/${name}?${query}`)
        expect([status, headers.get('content-disposition'), headers.get('cache-control')]).toEqual([
          ...[200, `attachment; filename="${name}"`, 'private, no-store'],
        ])
      }
    expect((await get(`/cdn/${slug}.png`)).headers.get('content-disposition')).toBeNull()
    expect((await get(`/cdn/${newSlug()}.png?download=1`)).headers.get('content-disposition')).toBeNull()
  })

  it('answers a HEAD with the same headers', async () => {
    const answer = await get(`/cdn/${slug}.png`, {}, 'HEAD')
    expect(answer.status).toBe(200)
    expectImageHeaders(answer.headers)
    expect(answer.headers.get('content-length')).toBe(String(PNG.length))
    expect((await answer.arrayBuffer()).byteLength).toBe(0)
  })

  it('serves a range of it', async () => {
    const answer = await get(`/cdn/${slug}.png`, { range: 'bytes=0-7' })
    expect(answer.status).toBe(206)
    expectImageHeaders(answer.headers, FOR_BROWSERS)
    expect(answer.headers.get('content-range')).toBe(`bytes 0-7/${PNG.length}`)
    expect(Buffer.from(await answer.arrayBuffer()).equals(PNG.subarray(0, 8))).toBe(true)
  })

  it('serves all of it to a client that asks for the rest of a version that it is not', async () => {
    const answer = await get(`/cdn/${slug}.png`, { range: 'bytes=8-', 'if-range': '"another version"' })
    expect(answer.status).toBe(200)
    expectImageHeaders(answer.headers, FOR_BROWSERS)
    expect(Buffer.from(await answer.arrayBuffer()).equals(PNG)).toBe(true)
  })

  it('refuses a range beyond its end with a 416', async () => {
    const answer = await get(`/cdn/${slug}.png`, { range: 'bytes=999999-' })
    expect(answer.status).toBe(416)
    expect(answer.headers.get('content-range')).toBe(`bytes */${PNG.length}`)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(await answer.json()).toEqual({ error: expect.any(String) })
  })

  it('answers 304 to a client that has the image', async () => {
    const { headers } = await get(`/cdn/${slug}.png`)
    for (const condition of [
      `If-None-Match: ${headers.get('etag')}`,
      `If-Modified-Since: ${headers.get('last-modified')}`,
    ]) {
      // Over a socket: fetch would say that it wants no cached answer.
      const request = `GET /cdn/${slug}.png HTTP/1.1\r\nHost: easel.test\r\n${condition}\r\n\r\n`
      const answer = await sendRaw(service.url, request)
      expect(answer?.status).toBe(304)
      expect(answer?.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    }
  })

  it('answers 412 to a client that wants another one, and gives it to one that wants this one', async () => {
    const { headers } = await get(`/cdn/${slug}.png`)
    const [etag, modified] = [headers.get('etag'), headers.get('last-modified')]
    const past = 'Sat, 01 Jan 2000 00:00:00 GMT'
    const another = [
      ...[{ 'if-match': '"another"' }, { 'if-match': '"one", W/"other"' }, { 'if-unmodified-since': past }],
      ...[
        { 'if-match': '"another"', 'if-none-match': etag },
        { 'if-match': '"another"', range: 'bytes=0-1' },
      ],
    ]
    const same = [
      ...['*', etag, `"another", ${etag}`].map((tags) => ({ 'if-match': tags })),
      ...[modified, 'never'].map((date) => ({ 'if-unmodified-since': date })),
    ]
    for (const method of ['GET', 'HEAD']) {
      const statusOf = async (headers: object) =>
        (await fetch(`${service.url}/cdn/${slug}.png`, { method, headers: headers as Record<string, string> })).status
      for (const conditions of another) expect([conditions, await statusOf(conditions)]).toEqual([conditions, 412])
      for (const conditions of same) expect([conditions, await statusOf(conditions)]).toEqual([conditions, 200])
    }
    const refused = await get(`/cdn/${slug}.png`, { 'if-match': '"another"' })
    expect(refused.headers.get('cache-control')).toBe('no-store')
    expect(await refused.json()).toEqual({ error: expect.stringMatching(/^The image is not the one that If-Match/) })
  })

  it('serves its thumbnail beside it', async () => {
    const answer = await get(`/cdn/${slug}.webp`)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('image/webp')
    expect(answer.headers.get('cache-control')).toBe(IMAGE_HEADERS['cache-control'])
    expect(Buffer.from(await answer.arrayBuffer()).equals(THUMBNAIL)).toBe(true)
    expect((await get(`/cdn/${newSlug()}.webp`)).status).toBe(404)
  })

  it('answers a 404 that no cache keeps, where there is no image', async () => {
    const answer = await call(service.url, 'GET', `/cdn/${newSlug()}.png`)
    expectPersonalError(answer, 404, /^No such endpoint: /)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('etag')).toBeNull()
    expect(answer.headers.get('last-modified')).toBeNull()
  })

  it('answers 404 once its file was removed', async () => {
    const images = await createImageStore(service.config)
    const removed = newSlug()
    await images.put(removed, PNG)
    expect((await get(`/cdn/${removed}.png`)).status).toBe(200)
    await images.remove(removed)
    expect((await get(`/cdn/${removed}.png`)).status).toBe(404)
  })

  it.each([
    '/cdn',
    '/cdn/',
    '/cdn/.',
    '/cdn/..',
    `/cdn/${slug}`,
    `/cdn/${slug}.PNG`,
    `/cdn/${slug}.png/`,
    `/cdn/${slug}.png.txt`,
    `/cdn/${slug}.txt`,
    `/cdn/${'a'.repeat(22)}.txt`,
    '/cdn/secret.txt',
    `/cdn/.${slug}.0123456789abcdef.tmp`,
    `/cdn/below/${slug}.png`,
    `/cdn/below%2F${slug}.png`,
    `/cdn/..%2f${slug}.png`,
    `/cdn/%2e%2e/${slug}.png`,
    '/cdn/..%2f..%2f..%2f..%2fetc%2fpasswd',
    '/cdn/../../../../etc/passwd',
    '/cdn/..\\..\\etc\\passwd',
    '/cdn/%5c..%5c..%5cetc%5cpasswd',
    `/cdn/${slug}.png%00`,
    `/cdn/${slug}%00.png`,
    `/cdn/${slug.slice(1)}%0a.png`,
    `/cdn//${slug}.png`,
    `/cdn/%2f${slug}.png`,
    `/cdn/${'%F0%9F%98%80'.repeat(5)}xx.png`,
    `/cdn/${'a'.repeat(8000)}.png`,
    '/cdn/%',
    '/cdn/%ff.png',
  ])('serves nothing but images: %.50s', async (path) => {
    // Over a socket: fetch would tidy the path up.
    const answer = await sendRaw(service.url, `GET ${path} HTTP/1.1\r\nHost: easel.test\r\nConnection: close\r\n\r\n`)
    expect([400, 404]).toContain(answer?.status)
    expect(answer?.body).toEqual({ error: expect.any(String) })
    expect(answer?.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('cannot be written to', async () => {
    for (const method of ['PUT', 'POST', 'DELETE', 'PATCH']) {
      expect((await get(`/cdn/${slug}.png`, {}, method)).status).toBe(405)
    }
  })
})

/** An image that Postgres knows. */
async function givenPublished({ hasThumbnail = true } = {}): Promise<string> {
  const [published = ''] = await givenImages(service.db, await givenUser(service.db), [{ hasThumbnail }])
  await (await createImageStore(service.config)).put(published, PNG, hasThumbnail ? { thumbnail: THUMBNAIL } : {})
  return published
}

describe('a directory', () => {
  let slug: string
  beforeAll(async () => {
    service = inFiles.service
    slug = await givenPublished()
  })

  it('is not left by a link that leads out of it', async () => {
    const link = newSlug()
    await symlink('/etc/hostname', join(directoryOf(service.config), `${link}.png`))
    expect((await get(`/cdn/${link}.png`)).status).toBe(404)
  })

  it('without any private image makes a published image whose file is missing a 404', async () => {
    const published = await givenPublished()
    await (await createImageStore(service.config)).remove(published)
    for (const end of ['png', 'webp']) expect((await get(`/cdn/${published}.${end}`)).status).toBe(404)
  })

  it('that is away as a whole makes each image a 503, not a 404', async () => {
    const storagePath = directoryOf(service.config)
    await rename(storagePath, `${storagePath}-away`)
    try {
      for (const put of [async () => undefined, () => writeFile(storagePath, 'no directory')]) {
        await put()
        const answer = await call(service.url, 'GET', `/cdn/${slug}.png`)
        expectPersonalError(answer, 503, /temporarily unavailable/)
        expect(answer.headers.get('cache-control')).toBe('no-store')
        expect((await get(`/cdn/${newSlug()}.png`)).status).toBe(404)
      }
    } finally {
      await rm(storagePath, { force: true })
      await rename(`${storagePath}-away`, storagePath)
    }
    expect((await get(`/cdn/${slug}.png`)).status).toBe(200)
  })
})

describe('a bucket', () => {
  let path: string
  beforeAll(async () => {
    service = inBucket.service
    path = `/cdn/${await givenPublished()}.png`
  })

  it('that is away or gone makes each image a 503, not a 404', async () => {
    for (const fault of [
      (_: unknown, response: ServerResponse) => refuse(response, 500, 'InternalError'),
      (_: unknown, response: ServerResponse) => refuse(response, 403, 'InvalidAccessKeyId'),
      (request: IncomingMessage, response: ServerResponse) =>
        request.method === 'HEAD' ? refuse(response, 404, 'NotFound') : refuse(response, 404, 'NoSuchBucket'),
    ]) {
      s3.fault = fault
      for (const method of ['GET', 'HEAD']) {
        const answer = await get(path, {}, method)
        expect(answer.status).toBe(503)
        expect(answer.headers.get('cache-control')).toBe('no-store')
      }
    }
    s3.fault = undefined
    expect((await get(path)).status).toBe(200)
  })

  it('that does not say how long an image is has it served without a length', async () => {
    s3.fault = (_request, response) => {
      response.writeHead(200, { etag: '"x"' }).write(PNG.subarray(0, 100))
      response.end(PNG.subarray(100))
      return 'handled'
    }
    const answer = await get(path)
    s3.fault = undefined
    expect(answer.headers.get('content-length')).toBeNull()
    expect(answer.headers.get('last-modified')).toBeNull()
    expect(Buffer.from(await answer.arrayBuffer()).equals(PNG)).toBe(true)
  })

  it('is no longer read from when the client has gone away', async () => {
    const large = newSlug()
    await (await createImageStore(service.config)).put(large, Buffer.alloc(16 * 1024 * 1024))
    const ended = new Promise<void>((resolve) => {
      s3.fault = (_request, response) => {
        response.once('close', resolve)
        return 'pass'
      }
    })
    const client = new AbortController()
    const answer = await fetch(`${service.url}/cdn/${large}.png`, { signal: client.signal })
    expect(answer.status).toBe(200)
    client.abort()
    await ended
    s3.fault = undefined
  })
})

describe('a bucket whose key may not list, which therefore forbids what is not there', () => {
  const none = () => `/cdn/${newSlug()}`
  const statusesOf = (path: string) =>
    Promise.all(['GET', 'HEAD'].map(async (method) => (await get(path, {}, method)).status))
  beforeAll(() => {
    service = inBucket.service
    s3.hidesMissing = true
  })
  afterAll(() => {
    s3.hidesMissing = false
  })

  it('makes an image that nobody has published a 404, and so its thumbnail', async () => {
    for (const path of [`${none()}.png`, `${none()}.webp`]) {
      expect(await statusesOf(path)).toEqual([404, 404])
      const conditional = await get(path, { 'if-none-match': '"any"' })
      expect([conditional.status, conditional.headers.get('cache-control')]).toEqual([404, 'no-store'])
    }
  })

  it('says of an image that was taken down that it was', async () => {
    const published = await givenPublished()
    await (await createImageStore(service.config)).remove(published)
    await service.db.pool.query('UPDATE images SET removed_at = now() WHERE slug = $1', [published])
    for (const end of ['png', 'webp'])
      expectPersonalError(await call(service.url, 'GET', `/cdn/${published}.${end}`), 404, /^This image was removed/)
  })

  it('makes the thumbnail of an image that has none a 404', async () => {
    const published = await givenPublished({ hasThumbnail: false })
    expect(await statusesOf(`/cdn/${published}.png`)).toEqual([200, 200])
    expect(await statusesOf(`/cdn/${published}.webp`)).toEqual([404, 404])
  })

  it('makes a published image a 503 once the key has lost its rights, and no 404', async () => {
    const published = await givenPublished()
    s3.fault = (_, response) => refuse(response, 403, 'AccessDenied')
    for (const end of ['png', 'webp']) expect(await statusesOf(`/cdn/${published}.${end}`)).toEqual([503, 503])
    s3.fault = undefined
  })
})

it.each(['/cdn/SLUG.png', '/image/SLUG'])(
  '%s of an image that there is not holds no request slot while it waits to say so',
  async (path) => {
    const crowded = await startService({ server: { slots: { total: 1, perHolder: 1, patienceMs: 10_000 } } })
    try {
      const ask = () => fetch(crowded.url + path.replace('SLUG', newSlug()))
      // What is loaded for the first request alone.
      await ask()
      // Each waits 250 ms before it says so: one after the other they would wait longer than the patience.
      const answers = await Promise.all(Array.from({ length: 60 }, ask))
      expect(answers.filter(({ status }) => status !== 404)).toEqual([])
    } finally {
      await crowded.close()
    }
  },
)
