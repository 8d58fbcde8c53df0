import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { newSlug } from '../../../src/core/generations/generation.js'
import { type MovePorts, moveImages } from '../../../src/core/images/move-images.js'
import { fileImageStore } from '../../../src/images/file-image-store.js'
import { sha256 } from '../../support/s3-signature.js'

const CDN = { cdnBaseUrl: 'http://easel.test/cdn' }
const png = Buffer.from('the bytes of an image')

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'easel-moving-'))
  for (const name of ['from', 'to']) await mkdir(join(directory, name))
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] })
})
afterEach(async () => {
  vi.useRealTimers()
  await rm(directory, { recursive: true, force: true })
})

/** Images of which some can't be read, however often it is tried. */
async function given({ readable, unreadable }: { readable: number; unreadable: number }) {
  const from = fileImageStore({ root: join(directory, 'from'), ...CDN })
  const to = fileImageStore({ root: join(directory, 'to'), ...CDN })
  const slugs = Array.from({ length: unreadable + readable }, newSlug)
  for (const [i, slug] of slugs.entries())
    if (i < unreadable) await symlink('/nowhere', join(directory, 'from', `${slug}.png`))
    else await from.put(slug, png)
  const page = slugs.map((slug) => ({ slug, sha256: sha256(png).digest('hex'), hasThumbnail: false }))
  const onFault = vi.fn()
  const ports = {
    ...{ from, onFault, to: { publicFiles: to, privateFiles: to } },
    images: (async function* () {
      yield page
    })(),
    published: { find: async (slug: string) => ({ slug, removed: false }) },
  } as unknown as MovePorts
  return { slugs, to, ports, onFault }
}

/** Lets the time of all retries pass. */
async function over<T>(work: Promise<T>): Promise<T> {
  let ended = false
  const end = () => {
    ended = true
  }
  work.then(end, end)
  while (!ended) {
    await vi.advanceTimersByTimeAsync(500)
    await new Promise(setImmediate)
  }
  return work
}

it('a file that can not be read is named, and keeps no other image from being moved', async () => {
  const { slugs, to, ports, onFault } = await given({ readable: 20, unreadable: 1 })
  const { counts, examples } = await over(moveImages(ports, () => undefined))
  expect(counts).toMatchObject({ copied: 20, failed: 1 })
  expect(examples).toEqual([slugs[0]])
  expect(onFault.mock.calls).toEqual([[slugs[0], expect.objectContaining({ code: 'ELOOP' })]])
  expect(await to.exists(slugs[20] as string)).toBe(true)
})

it('files that can not be read, however many lie among others, keep no other image from being moved', async () => {
  const { slugs, ports } = await given({ readable: 1, unreadable: 60 })
  // The readable one first.
  const page = slugs.reverse().map((slug) => ({ slug, sha256: sha256(png).digest('hex'), hasThumbnail: false }))
  const images = (async function* () {
    yield page.slice(0, 1)
    yield page.slice(1)
  })()
  const { counts } = await over(moveImages({ ...ports, images }, () => undefined))
  expect(counts).toMatchObject({ copied: 1, failed: 60 })
})

it('moving images ends when so many fail that the store must be at fault', async () => {
  const { ports, onFault } = await given({ readable: 0, unreadable: 60 })
  await expect(over(moveImages(ports, () => undefined))).rejects.toThrow('ELOOP')
  expect(onFault.mock.calls.length).toBeLessThan(30)
})

it('an image whose owner changes its privacy meanwhile is left to the servers, which know where it belongs then', async () => {
  const { slugs, to, ports } = await given({ readable: 1, unreadable: 0 })
  const [slug] = slugs as [string]
  const moveAgain = vi.fn(async () => undefined)
  // Made private after it was stored: from then on a server may move it, and its owner may make it public again.
  const published = { find: async () => ({ slug, removed: false, isPrivate: await to.exists(slug) }) }
  const elsewhere = fileImageStore({ root: join(directory, 'from'), ...CDN })
  const places = { publicFiles: to, privateFiles: elsewhere }
  vi.useRealTimers()
  const moved = await moveImages({ ...ports, moveAgain, published, to: places } as never, () => undefined)
  expect(moveAgain.mock.calls).toEqual([[slug]])
  expect(await to.exists(slug)).toBe(true)
  expect(moved.counts).toMatchObject({ present: 1 })
})
