/** Buckets that refuse a part of what a put asks: the check finds it out, and puts do without it where that is safe. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { newSlug } from '../../src/core/generations/generation.js'
import { ImageTooLarge } from '../../src/core/images/ports.js'
import type { AnyImageStore } from '../../src/images/any-image-store.js'
import { imageStore } from '../../src/images/open-image-store.js'
import { parseConfig } from '../../src/process/config.js'
import { asks, names, putsMoreThan, refusing } from '../support/s3-refusals.js'
import { type Fault, type S3Server, startS3 } from '../support/s3-server.js'

/** A proxy on the way back from the bucket; undefined: it leaves the ETag out. */
const changingEtags =
  (change: (etag: string) => string | undefined): Fault =>
  (_request, response) => {
    const set = response.setHeader.bind(response)
    response.setHeader = (name, value) => {
      const sent = /^etag$/i.test(name) ? change(String(value)) : value
      return sent === undefined ? response : set(name, sent)
    }
    return 'pass'
  }
const NO_OWN_ETAG = 'If-Match (it does not know its own ETag)'

const png = Buffer.from('the bytes of an image')
const thumbnail = Buffer.from('a smaller one')

let directory: string
let s3: S3Server
let store: AnyImageStore
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'easel-refusing-'))
  s3 = await startS3(directory)
})
afterAll(async () => {
  await s3.close()
  await rm(directory, { recursive: true, force: true })
})
const storeOf = async (probeBytes?: number) =>
  imageStore({ ...parseConfig({ DATABASE_URL: 'postgres://db/easel', ...(await s3.env('easel')) }), probeBytes })
beforeEach(async () => {
  store = await storeOf(1024)
})
afterEach(() => {
  s3.fault = undefined
})

/** What a worker does with a bucket: it stores an image, and replaces one that an earlier attempt has left. */
async function expectUsable() {
  const slug = newSlug()
  expect(await store.put(slug, Buffer.from('an earlier attempt'), { thumbnail })).toBe(true)
  expect(await store.put(slug, png, { thumbnail })).toBe(true)
  s3.fault = undefined
  expect([await store.read(slug), await store.readThumbnail(slug)]).toEqual([png, thumbnail])
}

describe('a bucket that refuses what a put can do without', () => {
  it.each<[string, Fault, string]>([
    ['checksums, with 400', refusing(400, 'InvalidRequest', names('x-amz-checksum')), 'checksums (400 InvalidRequest)'],
    ['checksums, with 501', refusing(501, 'NotImplemented', names('x-amz-checksum')), 'checksums (501 NotImplemented)'],
    ['checksums, with 403', refusing(403, 'AccessDenied', names('x-amz-checksum')), 'checksums (403 AccessDenied)'],
    ['checksums, with 500', refusing(500, 'InternalError', names('x-amz-checksum')), 'checksums (500 InternalError)'],
    ['conditions, with 400', refusing(400, 'InvalidArgument', names('if-')), 'conditional puts (400 InvalidArgument)'],
    ['conditions, with 501', refusing(501, 'NotImplemented', names('if-')), 'conditional puts (501 NotImplemented)'],
    ['If-Match', refusing(400, 'InvalidArgument', names('if-match')), 'If-Match (400 InvalidArgument)'],
    ['If-Match, with 412', refusing(412, 'PreconditionFailed', names('if-match')), NO_OWN_ETAG],
    ['If-Match, with 404', refusing(404, 'NoSuchKey', names('if-match')), NO_OWN_ETAG],
    ['ETags, which a proxy makes weak', changingEtags((etag) => `W/${etag}`), NO_OWN_ETAG],
    ['ETags, which a proxy changes', changingEtags((etag) => etag.replace(/"$/, '-gzip"')), NO_OWN_ETAG],
    ['ETags, which a proxy leaves out', changingEtags(() => undefined), NO_OWN_ETAG],
    [
      'both',
      refusing(400, 'InvalidRequest', (it) => names('if-')(it) || names('x-amz-checksum')(it)),
      'checksums (400 InvalidRequest), conditional puts (400 InvalidRequest)',
    ],
    ['HEAD, with 403', refusing(403, 'AccessDenied', asks('HEAD')), 'HEAD (403)'],
    ['HEAD, with 405', refusing(405, 'MethodNotAllowed', asks('HEAD')), 'HEAD (405)'],
    ['HEAD, with 404', refusing(404, 'NotFound', asks('HEAD')), 'HEAD (it does not show what it has stored)'],
    ['to be looked at', refusing(403, 'AccessDenied', asks('HEAD', 'GET')), 'HEAD and GET (403 AccessDenied)'],
  ])('is used without it, and that is told: %s', async (_name, fault, lack) => {
    s3.fault = fault
    expect(await store.check()).toEqual({
      problem: undefined,
      missing: `The bucket "easel" lacks ${lack}: Easel does without, and docs/operators.md says what that costs.`,
    })
    await expectUsable()
  })

  it('is asked for the checksum of an object no more where only that is refused', async () => {
    s3.fault = refusing(400, 'InvalidArgument', names('x-amz-checksum-mode'))
    expect(await store.check()).toEqual({})
    await expectUsable()
  })

  it('is told of if it takes conditional puts and ignores what they say', async () => {
    s3.knowsConditions = false
    onTestFinished(() => {
      s3.knowsConditions = true
    })
    expect((await store.check()).missing).toMatch(/lacks conditional puts \(it ignores them\): Easel does without/)
    await expectUsable()
  })

  it('is told of if it forbids to look at what is not there, and is looked at all the same', async () => {
    s3.hidesMissing = true
    onTestFinished(() => {
      s3.hidesMissing = false
    })
    expect((await store.check()).missing).toMatch(/lacks the right to list \(403 for what is not there\): Easel does/)
    expect([await store.exists(newSlug()), await store.changedAt(newSlug())]).toEqual([false, undefined])
    // Its readers ask for what should be there: the key may have lost a right since.
    await expect(store.read(newSlug())).rejects.toThrow(/refuses a GET \(403 AccessDenied\)/)
    await store.remove(newSlug())
    await expectUsable()
  })

  it('has nothing to remove where it answers 404 to a DELETE', async () => {
    s3.fault = refusing(404, 'NoSuchKey', asks('DELETE'))
    await store.remove(newSlug())
    s3.fault = refusing(404, 'NoSuchBucket', asks('DELETE'))
    await expect(store.remove(newSlug())).rejects.toThrow(/does not exist/)
  })

  it('is asked for all of it again by the next check', async () => {
    s3.fault = refusing(400, 'InvalidRequest', names('x-amz-checksum'))
    await store.check()
    s3.fault = undefined
    expect(await store.check()).toEqual({})
  })

  it('loses nothing by a refusal that does not come again', async () => {
    let count = 0
    s3.fault = refusing(400, 'InvalidRequest', (request) => request.method === 'PUT' && ++count === 1)
    expect(await store.check()).toEqual({})
  })
})

describe('a bucket that does not take everything', () => {
  beforeEach(async () => {
    store = await storeOf() // its check tries the sizes of real images
  })

  it.each<[string, number, string]>([
    ['a proxy', 413, 'RequestEntityTooLarge'],
    ['a store', 400, 'EntityTooLarge'],
  ])('names the size that is too large for %s, and takes what is smaller', async (_name, status, code) => {
    s3.fault = refusing(status, code, putsMoreThan(3_000_000))
    expect((await store.check()).problem).toBe(
      `The bucket "easel" refuses a PUT of 9.5 MiB (${status} ${code}), so such images fail: raise the largest size that the store, or the proxy in front of it, takes.`,
    )
    await expect(store.put(newSlug(), Buffer.alloc(3_000_001))).rejects.toBeInstanceOf(ImageTooLarge)
    await expectUsable()
  })

  it('is used for images of usual size if the largest ones only break their connection', async () => {
    s3.fault = (request) => {
      if (!putsMoreThan(3_000_000)(request)) return 'pass'
      request.socket.destroy()
      return 'handled'
    }
    expect((await store.check()).problem).toMatch(
      /^The bucket "easel" (cannot be reached|did not answer a PUT in time)/,
    )
    await expectUsable()
  })

  it('is told of if nothing can be removed from it, and its probes do not pile up', async () => {
    s3.fault = refusing(403, 'AccessDenied', asks('DELETE'))
    for (let checks = 0; checks < 3; checks++)
      expect((await store.check()).problem).toMatch(/^The bucket "easel" refuses a DELETE \(403 AccessDenied\)/)
    const left = new Set(s3.seen.filter((line) => line.startsWith('PUT') && line.includes('.probe.')).slice(-9))
    expect(left.size).toBe(2)
    await expectUsable()
  })
})

describe('a bucket that takes no image', () => {
  it.each<[string, Fault, RegExp]>([
    ['refuses all puts', refusing(403, 'AccessDenied', asks('PUT')), /refuses a PUT \(403 AccessDenied\): check S3_/],
    [
      'has used up its quota',
      refusing(400, 'QuotaExceeded', asks('PUT')),
      /has used up its quota \(400 QuotaExceeded\)/,
    ],
    [
      'is full',
      refusing(507, 'XMinioStorageFull', asks('PUT')),
      /is full, .*\(507 XMinioStorageFull\): make room there/,
    ],
    ['has a name that the store forbids', refusing(400, 'InvalidBucketName', () => true), /correct STORAGE_URL/],
    [
      'shows nothing of what it takes',
      refusing(404, 'NotFound', asks('HEAD', 'GET')),
      /does not show what it has just/,
    ],
  ])('fails its check with what to do: it %s', async (_name, fault, sentence) => {
    s3.fault = fault
    await expect(store.check()).rejects.toThrow(sentence)
    s3.fault = undefined
    await expectUsable()
  })
})
