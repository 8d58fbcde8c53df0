/** What every image store promises, whatever it keeps images in. */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { newSlug } from '../../src/core/generations/generation.js'
import type { FileRequest } from '../../src/core/images/ports.js'
import type { AnyImageStore } from '../../src/images/any-image-store.js'
import { createImageStore, imageStore } from '../../src/images/open-image-store.js'
import { parseConfig } from '../../src/process/config.js'
import { type S3Server, startS3 } from '../support/s3-server.js'
import { sha256 } from '../support/s3-signature.js'

const slug = 'AbCdEfGhIjKlMnOpQrSt09'
const png = Buffer.from('the bytes of an image')
const thumbnail = Buffer.from('a smaller one')

let directory: string
let s3: S3Server
let number = 0
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'easel-stores-'))
  s3 = await startS3(join(directory, 's3'))
})
afterAll(async () => {
  await s3.close()
  await rm(directory, { recursive: true, force: true })
})

interface Given {
  readonly env: Readonly<Record<string, string>>
  /** The names of all that it holds. */
  names(): Promise<string[]>
}

async function givenDirectory(): Promise<Given> {
  const path = join(directory, `files-${++number}`)
  return { env: { STORAGE_URL: `file:${path}` }, names: () => readdir(path).catch(() => []) }
}

async function givenBucket(): Promise<Given> {
  const bucket = `bucket-${++number}`
  const names = async () => {
    const found = await readdir(join(directory, 's3', bucket, 'images')).catch(() => [])
    return found.flatMap((name) => /^(.*)\._S3rver_object$/.exec(name)?.[1] ?? [])
  }
  return { env: await s3.env(bucket), names }
}

const open = ({ env }: Given) => {
  const config = parseConfig({
    DATABASE_URL: 'postgres://db/easel',
    CDN_BASE_URL: 'https://cdn.example/images',
    ...env,
  })
  return { store: imageStore(config), created: () => createImageStore(config) }
}

describe.each([
  ['a directory', givenDirectory, true],
  ['a bucket', givenBucket, true],
  ['a bucket of a store that keeps no checksums', givenBucket, false],
  [
    'a directory whose images move to a bucket',
    async () => {
      const [older, newer] = [await givenDirectory(), await givenBucket()]
      await open(older).created()
      return { ...newer, env: { ...newer.env, STORAGE_OLD_URL: older.env.STORAGE_URL as string } }
    },
    true,
  ],
])('%s', (_name, givenOf, keepsChecksums) => {
  let given: Given
  let store: AnyImageStore
  beforeEach(async () => {
    s3.keepsChecksums = keepsChecksums
    given = await givenOf()
    store = await open(given).created()
  })

  it('is found usable by its check, which leaves nothing in it', async () => {
    await store.check()
    expect(await given.names()).toEqual([])
  })

  it('keeps an image under its slug, and nothing beside it', async () => {
    expect(await store.put(slug, png)).toBe(true)
    expect(await given.names()).toEqual([`${slug}.png`])
    expect(await store.read(slug)).toEqual(png)
    expect(await store.readThumbnail(slug)).toBeUndefined()
  })

  it('stores and removes an image together with its thumbnail', async () => {
    expect(await store.put(slug, png, { thumbnail, isWanted: async () => false })).toBe(false)
    expect(await given.names()).toEqual([])
    expect(await store.put(slug, png, { thumbnail })).toBe(true)
    expect((await given.names()).sort()).toEqual([`${slug}.png`, `${slug}.webp`])
    expect(await store.readThumbnail(slug)).toEqual(thumbnail)
    await store.remove(slug)
    expect(await given.names()).toEqual([])
  })

  it('removes an image that is gone already without an error', async () => {
    await store.put(slug, png)
    await store.remove(slug)
    await store.remove(slug)
    expect(await store.read(slug)).toBeUndefined()
  })

  it('replaces the image of an earlier attempt, but only while the new one is wanted', async () => {
    await store.put(slug, Buffer.from('a longer image of an earlier attempt'))
    expect(await store.put(slug, Buffer.from('of a later one'), { isWanted: async () => false })).toBe(false)
    expect(await store.put(slug, png, { isWanted: async () => true })).toBe(true)
    expect(await store.read(slug)).toEqual(png)
    expect(await store.put(slug, png)).toBe(true)
  })

  it('lets several attempts write the same slug at once and keeps one of them whole', async () => {
    const images = Array.from({ length: 4 }, (_, i) => Buffer.alloc(100_000, i))
    await Promise.allSettled(images.map((image) => store.put(slug, image)))
    const kept = await store.read(slug)
    expect(images.some((image) => kept?.equals(image))).toBe(true)
    expect(await given.names()).toEqual([`${slug}.png`])
  })

  it('tells the hash and time of a file, and the slugs of all files', async () => {
    const [other, gone] = [newSlug(), newSlug()]
    await store.put(slug, png, { thumbnail })
    await store.put(other, png)
    expect(await store.sha256(slug, 'png')).toBe(sha256(png).digest('hex'))
    expect(await store.sha256(other, 'webp')).toBeUndefined()
    expect([await store.exists(slug), await store.exists(gone)]).toEqual([true, false])
    expect(Math.abs(Date.now() - ((await store.changedAt(slug))?.getTime() ?? 0))).toBeLessThan(60_000)
    expect(await store.changedAt(gone)).toBeUndefined()
    const slugs: string[] = []
    for await (const page of store.all()) slugs.push(...page)
    expect(slugs.sort()).toEqual([other, slug, slug].sort())
  })

  it('gives each image and thumbnail its permanent URL', () => {
    expect(store.url(slug)).toBe(`https://cdn.example/images/${slug}.png`)
    expect(store.thumbnailUrl(slug)).toBe(`https://cdn.example/images/${slug}.webp`)
  })

  it('opens a public file, or tells that there is none', async () => {
    await store.put(slug, png)
    const request: FileRequest = { name: `${slug}.png`, head: false }
    const found = await store.open(request)
    if (found && 'status' in found && found.body) expect(await buffer(found.body)).toEqual(png)
    else expect(found).toEqual({ directory: expect.stringContaining(directory) })
    expect(await store.open({ ...request, name: `${newSlug()}.png` })).toBeUndefined()
  })

  it('refuses a text that is no slug', async () => {
    const cut = slug.slice(1)
    const bad = ['', '..', '../../etc/passwd', '%2e%2e%2fpasswd', cut, `${slug}\0`, `${slug}\n`, `${slug}x`]
    for (const wrong of [...bad, `é${cut}`, `.${cut}`]) {
      await expect(store.put(wrong, png)).rejects.toThrow('is no image slug')
      await expect(store.read(wrong)).rejects.toThrow('is no image slug')
      await expect(store.remove(wrong)).rejects.toThrow('is no image slug')
      expect(() => store.url(wrong)).toThrow('is no image slug')
    }
    expect(await given.names()).toEqual([])
  })
})

it('an image that was in a directory before its move to a bucket is removed from both', async () => {
  const [older, newer] = [await givenDirectory(), await givenBucket()]
  const before = await open(older).created()
  await before.put(slug, png, { thumbnail })
  const moving = await open({
    ...newer,
    env: { ...newer.env, STORAGE_OLD_URL: older.env.STORAGE_URL as string },
  }).created()
  await moving.put(slug, png, { thumbnail })
  await moving.remove(slug)
  expect([...(await older.names()), ...(await newer.names())]).toEqual([])
  expect(await moving.read(slug)).toBeUndefined()
})

it('an image is read from where it is while it moves to a bucket that forbids what is not there', async () => {
  const [older, newer] = [await givenDirectory(), await givenBucket()]
  await (await open(older).created()).put(slug, png, { thumbnail })
  const { store } = open({ ...newer, env: { ...newer.env, STORAGE_OLD_URL: older.env.STORAGE_URL as string } })
  s3.hidesMissing = true
  onTestFinished(() => {
    s3.hidesMissing = false
  })
  expect(await store.read(slug)).toEqual(png)
  expect(await store.readThumbnail(slug)).toEqual(thumbnail)
  expect(await store.sha256(slug, 'png')).toBe(sha256(png).digest('hex'))
  expect(await store.exists(slug)).toBe(true)
  expect(await store.changedAt(slug)).toBeInstanceOf(Date)
  expect(await store.open({ name: `${slug}.png`, head: false })).toBeDefined()
  // In neither: the newer one may have lost its rights.
  await expect(store.read(newSlug())).rejects.toThrow(/refuses a GET \(403 AccessDenied\)/)
})
