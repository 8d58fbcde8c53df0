/** One bucket, or a part of it, by the AWS SDK. It is loaded with the first call: servers with a directory never need it. */
import { randomBytes } from 'node:crypto'
import { addAbortSignal, type Readable } from 'node:stream'
import type { PutObjectCommandInput, S3Client } from '@aws-sdk/client-s3'
import { HttpsProxyAgent } from 'https-proxy-agent'
import { getProxyForUrl } from 'proxy-from-env'
import { timeLimit } from '../abort-signals.js'
import type { FileRequest, PublicFile } from '../generation/library/public-file.js'
import { sha256Of } from './any-image-store.js'
import type { FoundObject, ObjectFacts, Objects } from './objects.js'
import { bucketFailure, isConflict, isMissing, isUnsupported, statusOf } from './s3-failure.js'
import type { S3Access, S3Storage } from './storage.js'

/** All tries of a call together; one of them may wait for a third of it for an answer. */
const CALL_MS = 15_000
/** A large image over a slow line. The answer to a put comes after all of it, so one try may take it all. */
const TRANSFER_MS = 60_000
const TRIES = 3
const CONNECT_MS = 3000
/** How long a presigned put may be begun. */
const PRESIGNED_FOR_SECONDS = 120
const CACHE_CONTROL = 'public, max-age=31536000, immutable'
/** What a presigned put binds besides its key; the SDK would leave these out. */
const SIGNED_HEADERS = new Set(['content-length', 'content-type', 'cache-control', 'if-match', 'if-none-match'])

/** A put that its holder may do without a key: exactly these bytes, soon. */
export interface PresignedPut {
  readonly url: string
  /** To be sent as they are. */
  readonly headers: Readonly<Record<string, string>>
}

interface StoredObject extends FoundObject {
  readonly changedAt: Date
}

const NEVER = new AbortController().signal

/** Connections are shared by all that name the same storage. */
const clients = new WeakMap<S3Access, Promise<S3Client>>()

async function connect({ endpoint, region, forcePathStyle, key }: S3Access): Promise<S3Client> {
  // Else it prints on stderr, where the log is, that it will want a newer Node one day.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true'
  const { S3Client } = await import('@aws-sdk/client-s3')
  // A store over http:// is in a network of ours.
  const proxy = getProxyForUrl(endpoint ?? `https://s3.${region}.amazonaws.com`)
  // A reader of /cdn holds one for as long as it reads, so there may be as many as readers, whom the server limits.
  const agent = { keepAlive: true, maxSockets: Number.POSITIVE_INFINITY }
  return new S3Client({
    region,
    forcePathStyle,
    ...(endpoint !== undefined && { endpoint }),
    ...(key && { credentials: { accessKeyId: key.id, secretAccessKey: key.secret } }),
    maxAttempts: TRIES,
    // Each put has a checksum of its own, and older stores refuse the SDK's.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      throwOnRequestTimeout: true,
      httpAgent: agent,
      httpsAgent: proxy ? new HttpsProxyAgent(proxy, agent) : agent,
    },
  })
}

type Sdk = typeof import('@aws-sdk/client-s3')
interface Call {
  readonly sdk: Sdk
  readonly client: S3Client
  readonly options: { readonly abortSignal: AbortSignal; readonly requestTimeout: number }
}

/** Every method rejects with one sentence that names the bucket and what to check. */
export function s3Bucket(storage: S3Storage) {
  const at = (file: string) => ({ Bucket: storage.bucket, Key: storage.prefix + file })

  async function call<T>(ms: number, work: (call: Call) => Promise<T>, signal = NEVER): Promise<T> {
    const limit = timeLimit(signal, ms)
    try {
      const client = clients.get(storage) ?? connect(storage)
      clients.set(storage, client)
      const options = { abortSignal: limit.signal, requestTimeout: ms / TRIES }
      return await work({ sdk: await import('@aws-sdk/client-s3'), client: await client, options })
    } catch (error) {
      signal.throwIfAborted()
      throw bucketFailure(storage, error, limit.isOver() ? ms : undefined)
    } finally {
      limit.clear()
    }
  }

  /** Undefined where there is no such object. */
  const callFor = <T>(ms: number, work: (call: Call) => Promise<T>) =>
    call(ms, (it) =>
      work(it).catch((error) => {
        if (isMissing(error)) return undefined
        throw error
      }),
    )

  const putInput = (file: string, { bytes, sha256 }: ObjectFacts) => ({
    ...at(file),
    ContentLength: bytes,
    ContentType: contentTypeOf(file),
    CacheControl: CACHE_CONTROL,
    ChecksumSHA256: sha256,
  })

  const head = (file: string): Promise<StoredObject | undefined> =>
    callFor(CALL_MS, async ({ sdk, client, options }) => {
      const found = await client.send(new sdk.HeadObjectCommand({ ...at(file), ChecksumMode: 'ENABLED' }), options)
      // The checksum of an object of several parts is none of its bytes.
      const sha256 = found.ChecksumType === 'COMPOSITE' ? undefined : found.ChecksumSHA256
      const { ContentLength: bytes = 0, ETag: etag = '', LastModified: changedAt = new Date(0) } = found
      return { bytes, sha256, etag, changedAt }
    })

  const put: Objects['put'] = (file, content, facts, { signal }) =>
    call(
      TRANSFER_MS,
      async ({ sdk, client, options: { abortSignal } }) => {
        const options = { abortSignal, requestTimeout: TRANSFER_MS }
        const send = (condition: Condition) =>
          client.send(new sdk.PutObjectCommand({ ...putInput(file, facts), ...condition, Body: content }), options)
        const sent = send(conditionOf(facts)).catch((error) => {
          if (!isUnsupported(error)) throw error
          return send({})
        })
        return sent.then(
          () => true,
          (error) => {
            if (isConflict(error)) return false
            throw error
          },
        )
      },
      signal,
    )

  return {
    head,
    put,

    /**
     * Puts random bytes where an upload will be stored, and resolves to their ETag: a put that replaces exactly these
     * can be stored once, and no longer once they are removed. Undefined: another object is there than `replaces`.
     */
    reserve: (file: string, replaces: string | undefined): Promise<string | undefined> =>
      call(CALL_MS, async ({ sdk, client, options }) => {
        const Body = randomBytes(32)
        const facts = { bytes: Body.length, sha256: sha256Of(Body).digest('base64'), replaces }
        const put = new sdk.PutObjectCommand({ ...putInput(file, facts), ...conditionOf(facts), Body })
        return client.send(put, options).then(
          ({ ETag }) => ETag,
          (error) => {
            if (isConflict(error)) return undefined
            throw error
          },
        )
      }),

    /** For who has no key: a put of these bytes and no others, to be begun soon. */
    presignPut: (file: string, facts: ObjectFacts): Promise<PresignedPut> =>
      call(CALL_MS, async ({ sdk, client }) => {
        const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner')
        const input = { ...putInput(file, facts), ...conditionOf(facts) }
        const headers: Record<string, string> = {
          'content-length': String(facts.bytes),
          'content-type': contentTypeOf(file),
          'cache-control': CACHE_CONTROL,
          'x-amz-checksum-sha256': facts.sha256,
          ...(facts.replaces === undefined ? { 'if-none-match': '*' } : { 'if-match': facts.replaces }),
        }
        const url = await getSignedUrl(client, new sdk.PutObjectCommand(input), {
          expiresIn: PRESIGNED_FOR_SECONDS,
          signableHeaders: new Set([...SIGNED_HEADERS, 'host', 'x-amz-checksum-sha256']),
          unhoistableHeaders: new Set(['x-amz-checksum-sha256']),
        })
        return { url, headers }
      }),

    read: (file: string): Promise<Buffer | undefined> =>
      callFor(TRANSFER_MS, async ({ sdk, client, options }) => {
        const { Body } = await client.send(new sdk.GetObjectCommand(at(file)), options)
        return Buffer.concat(await addAbortSignal(options.abortSignal, Body as Readable).toArray())
      }),

    remove: (file: string): Promise<void> =>
      call(CALL_MS, async ({ sdk, client, options }) => {
        await client.send(new sdk.DeleteObjectCommand(at(file)), options)
      }),

    /** The names of all files, in pages. */
    async *list(): AsyncGenerator<string[]> {
      let ContinuationToken: string | undefined
      do {
        const page = await call(CALL_MS, ({ sdk, client, options }) =>
          client.send(
            new sdk.ListObjectsV2Command({
              Bucket: storage.bucket,
              Prefix: storage.prefix,
              Delimiter: '/',
              ...(ContinuationToken && { ContinuationToken }),
            }),
            options,
          ),
        )
        yield (page.Contents ?? []).flatMap(({ Key }) => Key?.slice(storage.prefix.length) ?? [])
        ContinuationToken = page.NextContinuationToken
      } while (ContinuationToken)
    },

    /** Stores an object and deletes it. */
    async check(): Promise<void> {
      const probe = `.probe.${randomBytes(8).toString('hex')}.tmp`
      await call(CALL_MS, async ({ sdk, client, options }) => {
        await client.send(new sdk.PutObjectCommand({ ...at(probe), Body: Buffer.from('probe') }), options)
        await client.send(new sdk.DeleteObjectCommand(at(probe)), options)
      })
    },

    async open(request: FileRequest): Promise<PublicFile | undefined> {
      const { name, range } = request
      const { ifMatch, ifUnmodifiedSince, ifNoneMatch, ifModifiedSince } = request
      const conditions = [ifMatch, ifUnmodifiedSince, ifNoneMatch, ifModifiedSince]
      if (request.head || conditions.some((it) => it !== undefined)) {
        const found = await head(name)
        if (found && !isWanted(request, found)) return { status: 412, headers: tagsOf(found) }
        // Where it is not found it is asked for all the same: only then a store says that the whole bucket is missing.
        if (found && isFresh(request, found)) return { status: 304, headers: tagsOf(found) }
        if (found && request.head)
          return { status: 200, headers: { ...tagsOf(found), 'content-length': String(found.bytes) } }
      }
      const answer = await callFor(CALL_MS, ({ sdk, client, options }) =>
        client
          .send(new sdk.GetObjectCommand({ ...at(name), ...(range !== undefined && { Range: range }) }), options)
          .catch((error) => {
            if (statusOf(error) === 416) return 'unsatisfiable' as const
            throw error
          }),
      )
      if (answer === 'unsatisfiable')
        return { status: 416, headers: { 'content-range': `bytes */${(await head(name))?.bytes ?? 0}` } }
      return (
        answer && {
          status: answer.ContentRange === undefined ? 200 : 206,
          headers: {
            ...tagsOf({ etag: answer.ETag ?? '', changedAt: answer.LastModified }),
            ...(answer.ContentLength !== undefined && { 'content-length': String(answer.ContentLength) }),
            ...(answer.ContentRange !== undefined && { 'content-range': answer.ContentRange }),
          },
          body: answer.Body as Readable,
        }
      )
    },
  }
}

type Condition = Pick<PutObjectCommandInput, 'IfMatch' | 'IfNoneMatch'>

const conditionOf = ({ replaces }: ObjectFacts): Condition =>
  replaces === undefined ? { IfNoneMatch: '*' } : { IfMatch: replaces }

const contentTypeOf = (file: string) => (file.endsWith('.webp') ? 'image/webp' : 'image/png')

interface Tagged extends Pick<StoredObject, 'etag'> {
  readonly changedAt: Date | undefined
}

const tagsOf = ({ etag, changedAt }: Tagged) => ({
  'accept-ranges': 'bytes',
  ...(changedAt && { 'last-modified': changedAt.toUTCString() }),
  ...(etag && { etag }),
})

/** Whether it is the one that the client wants; a date that is none says nothing. HTTP knows whole seconds. */
function isWanted({ ifMatch, ifUnmodifiedSince }: FileRequest, { etag, changedAt }: StoredObject): boolean {
  if (ifMatch !== undefined) return ifMatch.split(',').some((tag) => ['*', etag].includes(tag.trim()))
  return !(Math.floor(changedAt.getTime() / 1000) * 1000 > Date.parse(ifUnmodifiedSince ?? ''))
}

/** Whether the client has it already. Proxies may have made the tag a weak one. */
function isFresh({ ifNoneMatch, ifModifiedSince }: FileRequest, { etag, changedAt }: StoredObject): boolean {
  if (ifNoneMatch !== undefined)
    return ifNoneMatch.split(',').some((tag) => ['*', etag].includes(tag.trim().replace(/^W\//, '')))
  // HTTP knows whole seconds.
  return Date.parse(ifModifiedSince ?? '') >= Math.floor(changedAt.getTime() / 1000) * 1000
}
