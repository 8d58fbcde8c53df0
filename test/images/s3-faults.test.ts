/** What a bucket that fails does to us: no image is half stored or wrongly replaced, and each sentence says what to do. */
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { newSlug } from '../../src/core/generations/generation.js'
import { FileUnreadable } from '../../src/core/images/read-each.js'
import type { AnyImageStore } from '../../src/images/any-image-store.js'
import { imageStore, openImageStore } from '../../src/images/open-image-store.js'
import { s3Bucket } from '../../src/images/s3-bucket.js'
import type { S3Storage } from '../../src/images/storage.js'
import { parseConfig } from '../../src/process/config.js'
import { makeCertificate } from '../support/certificates.js'
import { noLog } from '../support/fake-ports.js'
import { freePort } from '../support/free-port.js'
import { givenName } from '../support/given-names.js'
import { type Fault, refuse, S3_SECRET, type S3Server, startS3 } from '../support/s3-server.js'
import { until } from '../support/until.js'

const png = Buffer.from('the bytes of an image')
const earlier = Buffer.from('those of an earlier attempt')
const configOf = (env: Record<string, string>) => parseConfig({ DATABASE_URL: 'postgres://db/easel', ...env })

let directory: string
let s3: S3Server
let env: Record<string, string>
let store: AnyImageStore
let slug: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'easel-s3-'))
  s3 = await startS3(directory)
  env = await s3.env('easel')
})
afterAll(async () => {
  await s3.close()
  await rm(directory, { recursive: true, force: true })
})
beforeEach(() => {
  slug = newSlug()
  store = imageStore(configOf(env))
})
afterEach(() => {
  s3.fault = undefined
  vi.useRealTimers()
})

/** Meets the n-th request of this method, and lets the others pass. */
function meet(method: string, n: number, fault: Fault): void {
  let count = 0
  s3.fault = (request, response) => (request.method === method && ++count === n ? fault(request, response) : 'pass')
}
const asked = (method: string) => s3.seen.filter((line) => line.startsWith(method) && line.includes(slug)).length
const failureOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'nothing failed',
    (error) => (error as Error).message,
  )

describe('a clock that is wrong', () => {
  const MINUTE = 60_000
  /** As the store reads it: `20260102T030405Z`. */
  const timeIn = (stamp: string) => Date.parse(stamp.replace(/(....)(..)(..T..)(..)(..Z)/, '$1-$2-$3:$4:$5'))

  it.each([60, -60])('by %s minutes is made up for, also in a put that somebody else does', async (minutes) => {
    const now = () => performance.timeOrigin + performance.now()
    s3.fault = ({ headers }, response) => {
      if (Math.abs(timeIn(String(headers['x-amz-date'])) - now()) > 15 * MINUTE)
        return refuse(response, 403, 'RequestTimeTooSkewed')
      response.writeHead(200, { etag: '"reserved"' }).end()
      return 'handled'
    }
    vi.useFakeTimers({ toFake: ['Date'], now: now() + minutes * MINUTE })
    const bucket = s3Bucket(configOf(env).storage as S3Storage)
    const replaces = await bucket.reserve(`${slug}.png`, undefined)
    const { url } = await bucket.presignPut(`${slug}.png`, { bytes: 1, sha256: 'x', replaces })
    const { searchParams: query } = new URL(url)
    const from = timeIn(query.get('X-Amz-Date') ?? '')
    expect(from).toBeLessThan(now() + 15 * MINUTE)
    expect(from + Number(query.get('X-Amz-Expires')) * 1000).toBeGreaterThan(now() + MINUTE)
  })
})

describe('a put', () => {
  it('is repeated when its answer is lost, and finds what it stored', async () => {
    // The store has it, but nobody hears of that.
    meet('PUT', 1, (request, response) => {
      response.end = () => request.socket.destroy() as never
      return 'pass'
    })
    expect(await store.put(slug, png)).toBe(true)
    expect(asked('PUT')).toBe(2)
    expect(await store.read(slug)).toEqual(png)
  })

  it('is repeated when the connection breaks in the midst of the image, of which nothing is left', async () => {
    const large = Buffer.alloc(4 * 1024 * 1024, 7)
    meet('PUT', 1, (request) => {
      request.once('data', () => request.socket.destroy())
      return 'handled'
    })
    expect(await store.put(slug, large)).toBe(true)
    expect((await store.read(slug))?.equals(large)).toBe(true)
  })

  it('is repeated when the store is busy', async () => {
    meet('PUT', 1, (_, response) => refuse(response, 503, 'SlowDown'))
    expect(await store.put(slug, png)).toBe(true)
  })

  it('replaces nothing that another attempt has stored since it was asked whether it may', async () => {
    await store.put(slug, earlier)
    const wanted = vi.fn(async () => {
      if (wanted.mock.calls.length === 2) await store.put(slug, Buffer.from('of the attempt that took over'))
      return wanted.mock.calls.length < 3
    })
    expect(await store.put(slug, png, { isWanted: wanted })).toBe(false)
    expect(await store.read(slug)).toEqual(Buffer.from('of the attempt that took over'))
  })

  it('may take 55 seconds over a slow line, and is not repeated', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    let arrive = () => {}
    meet('PUT', 1, () => new Promise((pass) => (arrive = () => pass('pass'))))
    const put = store.put(slug, png)
    while (asked('PUT') === 0) await new Promise(setImmediate)
    await vi.advanceTimersByTimeAsync(55_000)
    arrive()
    expect(await put).toBe(true)
    expect(asked('PUT')).toBe(1)
  })

  it('is repeated when what it replaces is removed meanwhile', async () => {
    await store.put(slug, earlier)
    meet('PUT', 2, (_, response) => refuse(response, 404, 'NoSuchKey'))
    expect(await store.put(slug, png)).toBe(true)
    expect(await store.read(slug)).toEqual(png)
  })

  it('goes without conditions to a store that knows none', async () => {
    s3.fault = ({ headers }, response) => (headers['if-none-match'] ? refuse(response, 501, 'NotImplemented') : 'pass')
    await store.check()
    expect(await store.put(slug, png)).toBe(true)
  })

  it('fails when the store holds something else afterwards', async () => {
    meet('HEAD', 1, (_, response) => {
      response.writeHead(200, { 'content-length': '3', etag: '"x"' }).end()
      return 'handled'
    })
    expect(await failureOf(store.put(slug, png))).toBe(`${slug}.png holds 3 bytes instead of 21`)
  })

  it('names its type, its checksum and how long it may be kept', async () => {
    const headers: Record<string, unknown>[] = []
    s3.fault = (request) => {
      if (request.method === 'PUT') headers.push(request.headers)
      return 'pass'
    }
    await store.put(slug, png, { thumbnail: Buffer.from('small') })
    const kept = { 'cache-control': 'public, max-age=31536000, immutable' }
    expect(headers).toMatchObject([
      { ...kept, 'content-type': 'image/webp', 'content-length': '5' },
      {
        ...{ ...kept, 'content-type': 'image/png', 'content-length': '21' },
        'x-amz-checksum-sha256': 'xMtYp87TipxflcMDXvqeWg0b5r98KNyDN3OY7vFjKtQ=',
      },
    ])
  })

  it('ends with its caller, even while the store says nothing', async () => {
    s3.fault = () => 'handled'
    const caller = new AbortController()
    const put = store.put(slug, png, { signal: caller.signal })
    await until(() => asked('PUT') === 1, 'the put')
    caller.abort(new Error('the worker is leaving'))
    expect(await failureOf(put)).toBe('the worker is leaving')
  })
})

describe('the error message', () => {
  const at = () => s3.endpoint
  it.each<[string, Fault, () => string]>([
    [
      'for a wrong key',
      (_, response) => refuse(response, 403, 'InvalidAccessKeyId'),
      () =>
        'refuses a PUT (403 InvalidAccessKeyId): check S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY, and that they may get, put, delete and list objects there.',
    ],
    [
      'for a bucket that is not there',
      (_, response) => refuse(response, 404, 'NoSuchBucket'),
      () => `does not exist at ${at()}: create it, or correct STORAGE_URL, S3_ENDPOINT or S3_REGION.`,
    ],
    [
      'for another region',
      (_, response) => refuse(response, 301, 'PermanentRedirect'),
      () => 'is not in the region us-east-1: correct S3_REGION.',
    ],
    [
      'for a clock that is wrong',
      (_, response) => refuse(response, 403, 'RequestTimeTooSkewed'),
      () => 'refuses requests because the clock of this host is wrong: correct that clock.',
    ],
    [
      'for a fault of the store',
      (_, response) => refuse(response, 500, 'InternalError'),
      () => `answered a PUT with an error (500 InternalError): look into the log of the store at ${at()}.`,
    ],
  ])('%s', async (_, fault, rest) => {
    s3.fault = fault
    for (const [work, action] of [
      ['read', 'GET'],
      ['remove', 'DELETE'],
      ['check', 'PUT'],
      ['put', 'PUT'],
    ] as const)
      expect(await failureOf(store[work](slug, png))).toBe(
        `The bucket "easel" ${rest().replace('a PUT', `a ${action}`)}`,
      )
  })

  const saying =
    (status: number, body: string, type = 'text/html'): Fault =>
    (request, response) => {
      request.resume()
      response.writeHead(status, { 'content-type': type }).end(body)
      return 'handled'
    }
  const inXml = (code: string, message: string) =>
    `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`
  it.each<[string, Fault, RegExp]>([
    ['a proxy that leads to https', saying(308, ''), /is not at http:\S+, which leads elsewhere \(308\): write /],
    [
      'a proxy that leads there with a page',
      saying(301, '<html>Moved</html>'),
      /is not at http:\S+, which leads elsewh/,
    ],
    [
      'a store with TLS that is written in Go',
      saying(400, 'Client sent an HTTP request to an HTTPS server.\n', 'text/plain'),
      /is not understood at \S+ \(400\): if the store speaks TLS, let S3_ENDPOINT begin with https:\/\/\.$/,
    ],
    [
      'a store with TLS behind nginx',
      saying(400, '<html><center>The plain HTTP request was sent to HTTPS port</center></html>'),
      /is not understood at \S+ \(400\): if the store speaks TLS, /,
    ],
    [
      'a console',
      saying(
        403,
        inXml('AccessDenied', 'S3 API Request made to Console port. S3 Requests should be sent to API port.'),
      ),
      /was looked for at the store's console: write the port of its API into S3_ENDPOINT/,
    ],
    [
      'an account that is full',
      saying(403, inXml('AccessDenied', 'Cannot upload files, storage cap exceeded.')),
      /is full, or has used up its quota \(403 AccessDenied\): make room there/,
    ],
    [
      'a key whose time is over',
      saying(400, inXml('ExpiredToken', 'The provided token has expired.')),
      /refuses a key that lasts for a time only \(400 ExpiredToken\): its time is over/,
    ],
    [
      'a store that wants the bucket in the host',
      saying(403, inXml('SecondLevelDomainForbidden', 'Please use virtual hosted style to access.')),
      /must be named in the host, .*: set S3_FORCE_PATH_STYLE=false\./,
    ],
    [
      'another region',
      saying(400, inXml('InvalidRegionName', 'no')),
      /is not in the region us-east-1: correct S3_REGION/,
    ],
    [
      'a proxy that changes what was signed',
      saying(403, inXml('SignatureDoesNotMatch', 'no')),
      /check S3_ACCESS_KEY_ID .* A proxy in front of the store must pass Host and path on as they are\.$/,
    ],
    [
      'a store that has too much to do',
      saying(503, inXml('SlowDown', 'no')),
      /wants to be asked less often \(503 SlowDown\): raise /,
    ],
  ])('for %s', async (_, fault, sentence) => {
    s3.fault = fault
    for (const work of [() => store.read(slug), () => store.put(slug, png), store.check])
      expect(await failureOf(work())).toMatch(sentence)
  })

  it('for a store that breaks every connection off', async () => {
    s3.fault = (request) => {
      request.socket.destroy()
      return 'handled'
    }
    expect(await failureOf(store.put(slug, png))).toMatch(
      /cannot be reached at \S+ \(.*ECONNRESET.*\): check S3_ENDPOINT/,
    )
  })

  it('for a secret that does not fit repeats neither it nor what was signed', async () => {
    const wrong = imageStore(configOf({ ...env, S3_SECRET_ACCESS_KEY: `not ${S3_SECRET}` }))
    const error = await wrong.put(slug, png).catch((thrown) => thrown)
    expect(error.message).toContain(
      'The bucket "easel" refuses a PUT (403 SignatureDoesNotMatch): check S3_ACCESS_KEY_ID',
    )
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toMatch(/the secret|S3RVER|AWS4/)
    expect(error.cause).toBeUndefined()
  })

  it('for what is no store at all, and knows no address that it is asked for', async () => {
    s3.fault = (_, response) => {
      response.writeHead(404, { 'content-type': 'text/html' }).end('<!doctype html>')
      return 'handled'
    }
    expect(await failureOf(store.put(slug, png))).toMatch(
      /^The bucket "easel" answered a PUT with an error \(404 \w+\): look into the log of the store at /,
    )
  })

  it('for a store that is away', async () => {
    const S3_ENDPOINT = `http://127.0.0.1:${await freePort()}`
    expect(await failureOf(imageStore(configOf({ ...env, S3_ENDPOINT })).put(slug, png))).toBe(
      `The bucket "easel" cannot be reached at ${S3_ENDPOINT} (connect ECONNREFUSED ${S3_ENDPOINT.slice(7)}): check S3_ENDPOINT and the network.`,
    )
  })

  it('for a key of encryption that cannot be used: not of one object where the object was to be put, nor where it is so for a moment', async () => {
    s3.fault = (_, response) => refuse(response, 400, 'KMS.DisabledException')
    await expect(store.put(slug, png)).rejects.toThrow(/answered a \w+ with an error \(400 KMS\.DisabledException\)/)
    await expect(store.read(slug)).rejects.toThrow(FileUnreadable)
    s3.fault = (_, response) => refuse(response, 400, 'KMS.ThrottlingException')
    await expect(store.read(slug)).rejects.not.toThrow(FileUnreadable)
  })

  it('for a store whose name has two addresses, of which none can be reached', async () => {
    givenName('two-addresses.test', ['::1', '127.0.0.1'])
    onTestFinished(() => void vi.restoreAllMocks())
    const S3_ENDPOINT = `http://two-addresses.test:${await freePort()}`
    expect(await failureOf(imageStore(configOf({ ...env, S3_ENDPOINT })).put(slug, png))).toMatch(
      /^The bucket "easel" cannot be reached at \S+ \(connect \w+ ::1:.*; connect ECONNREFUSED 127\.0\.0\.1:\d+\): check /,
    )
  })

  it('for a certificate that nobody here trusts', async () => {
    const server = createServer(await makeCertificate('localhost')).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const S3_ENDPOINT = `https://localhost:${(server.address() as AddressInfo).port}`
    expect(await failureOf(imageStore(configOf({ ...env, S3_ENDPOINT })).put(slug, png))).toBe(
      `The bucket "easel" has no certificate at ${S3_ENDPOINT} that can be trusted, or takes no TLS of ours (self-signed certificate (DEPTH_ZERO_SELF_SIGNED_CERT)): renew it there, or name its authority in NODE_EXTRA_CA_CERTS.`,
    )
  })

  it('for a store that does not answer', async () => {
    s3.fault = () => 'handled'
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const failure = failureOf(store.remove(slug))
    let ended = false
    void failure.then(() => {
      ended = true
    })
    while (!ended) {
      await vi.advanceTimersByTimeAsync(500)
      await new Promise(setImmediate)
    }
    expect(await failure).toBe(
      `The bucket "easel" did not answer a DELETE in time at ${s3.endpoint}: check that store and the network to it.`,
    )
  })
})

describe('a list', () => {
  const page = (isTruncated: boolean, token?: string): Fault =>
    saying(
      `<ListBucketResult><IsTruncated>${isTruncated}</IsTruncated><Contents><Key>images/${slug}.png</Key></Contents>${token ? `<NextContinuationToken>${token}</NextContinuationToken>` : ''}</ListBucketResult>`,
    )
  const saying =
    (body: string): Fault =>
    (_, response) => {
      response.writeHead(200, { 'content-type': 'application/xml' }).end(body)
      return 'handled'
    }
  const all = async () => {
    const found: string[] = []
    for await (const slugs of store.all()) found.push(...slugs)
    return found
  }

  it.each([
    ['names no next page', undefined],
    ['gives the same page for ever', 'again'],
  ])('that %s, though there is more, is told and is not taken for all', async (_, token) => {
    s3.fault = page(true, token)
    expect(await failureOf(all())).toBe(
      'The bucket "easel" does not list what comes after its first objects: look into the log of the store.',
    )
  })

  it('that is at its end is, even if it names a next page', async () => {
    s3.fault = page(false, 'again')
    expect(await all()).toEqual([slug])
  })
})

it('a bucket that keeps what is removed is told of', async () => {
  s3.fault = (request, response) => {
    if (request.method === 'DELETE') response.setHeader('x-amz-delete-marker', 'true')
    return 'pass'
  }
  expect((await store.check()).missing).toBe(
    'The bucket "easel" keeps versions, so what is removed stays in it: switch versioning off, or let a lifecycle rule delete old versions after a day.',
  )
})

it('a bucket that is away when a process starts holds nothing up, and is told of until it takes images', async () => {
  s3.fault = (_, response) => refuse(response, 404, 'NoSuchBucket')
  const opened = await openImageStore(configOf(env), noLog)
  expect(opened.problem()).toBeUndefined()
  onTestFinished(opened.untilUsable())
  await until(() => opened.problem()?.startsWith('The bucket "easel" does not exist'), 'the sentence')
  s3.fault = undefined
  expect(await opened.put(slug, png)).toBe(true)
  expect(opened.problem()).toBeUndefined()
})
