/** One bucket, or a part of it, by the AWS SDK. It is loaded with the first call: servers with a directory never need it. */
import { randomBytes } from 'node:crypto'
import { addAbortSignal, type Readable } from 'node:stream'
import type { S3Client } from '@aws-sdk/client-s3'
import type { FileRequest, PublicFile, StoreLacks } from '../core/images/ports.js'
import { FileUnreadable } from '../core/images/read-each.js'
import { NEVER_ABORTED, timeLimit } from '../lib/abort-signals.js'
import { sha256Of } from './any-image-store.js'
import { newProbeName, type ObjectFacts, type Objects, probeObjects } from './objects.js'
import {
  conditionOf,
  LOOKUPS,
  type Lookup,
  type PutFeatures,
  probeCapabilities,
  type StoredObject,
} from './s3-capabilities.js'
import { connect, knownOf, TRIES } from './s3-client.js'
import { headersOf, isNotModified, isWanted } from './s3-conditions.js'
import { bucketFailure, isConflict, isForbidden, isMissing, statusOf } from './s3-failure.js'
import type { S3Storage } from './storage.js'

/** All tries of a call together; one of them may wait for a third of it for an answer. */
const CALL_MS = 15_000
/** A large image over a slow line. The answer to a put comes after all of it, so one try may take it all. */
const TRANSFER_MS = 60_000
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

type Sdk = typeof import('@aws-sdk/client-s3')
interface Call {
  readonly sdk: Sdk
  readonly client: S3Client
  readonly options: { readonly abortSignal: AbortSignal; readonly requestTimeout: number }
}

/** Every method rejects with one sentence that names the bucket and what to check. */
export function s3Bucket(storage: S3Storage, probeBytes?: number) {
  const at = (file: string) => ({ Bucket: storage.bucket, Key: storage.prefix + file })
  const store = knownOf(storage)
  const probeName = newProbeName()

  /** @param action as messages name it; `bytes`: of what it stores */
  async function call<T>(
    action: string,
    ms: number,
    work: (call: Call) => Promise<T>,
    { signal = NEVER_ABORTED, bytes }: { readonly signal?: AbortSignal | undefined; readonly bytes?: number } = {},
  ): Promise<T> {
    const limit = timeLimit(signal, ms)
    try {
      store.client ??= connect(storage)
      const options = { abortSignal: limit.signal, requestTimeout: ms / TRIES }
      return await work({ sdk: await import('@aws-sdk/client-s3'), client: await store.client, options })
    } catch (error) {
      signal.throwIfAborted()
      throw bucketFailure(storage, action, error, { timedOutMs: limit.isOver() ? ms : undefined, bytes })
    } finally {
      limit.clear()
    }
  }

  /** Undefined where there is no such object. */
  const callFor = <T>(action: string, ms: number, work: (call: Call) => Promise<T>) =>
    call(action, ms, (it) =>
      work(it).catch((error) => {
        if (isMissing(error)) return undefined
        throw error
      }),
    )

  const putInput = (file: string, facts: ObjectFacts, features: PutFeatures) => ({
    ...at(file),
    ContentLength: facts.bytes,
    ContentType: contentTypeOf(file),
    CacheControl: CACHE_CONTROL,
    ...(features.checksum && { ChecksumSHA256: facts.sha256 }),
    ...conditionOf(facts, features),
  })

  const lookUp = ({ by, checksum }: Lookup, file: string): Promise<StoredObject | undefined> =>
    callFor(by, CALL_MS, async ({ sdk, client, options }) => {
      const input = { ...at(file), ...(checksum && { ChecksumMode: 'ENABLED' as const }) }
      const found =
        by === 'HEAD'
          ? await client.send(new sdk.HeadObjectCommand(input), options)
          : await client.send(new sdk.GetObjectCommand({ ...input, Range: 'bytes=0-0' }), options)
      if ('Body' in found) (found.Body as Readable).destroy()
      // The checksum of an object of several parts is none of its bytes.
      const sha256 = found.ChecksumType === 'COMPOSITE' ? undefined : found.ChecksumSHA256
      const { ContentLength = 0, ContentRange, ETag: etag = '', LastModified: changedAt = new Date(0) } = found
      return { bytes: Number(ContentRange?.split('/')[1] ?? ContentLength), sha256, etag, changedAt }
    })

  const head = (file: string) =>
    lookUp(store.lookup ?? LOOKUPS[0], file).catch((error) => {
      if (store.hidesMissing && isForbidden(error)) return undefined
      throw error
    })

  /** What the store then calls it; undefined: another object is there than the one that it replaces. */
  const put = (
    features: PutFeatures,
    file: string,
    content: Buffer,
    facts: ObjectFacts,
    signal?: AbortSignal,
  ): Promise<{ readonly etag: string | undefined } | undefined> =>
    call(
      'PUT',
      TRANSFER_MS,
      async ({ sdk, client, options: { abortSignal } }) => {
        const input = { ...putInput(file, facts, features), Body: content }
        const sent = client.send(new sdk.PutObjectCommand(input), { abortSignal, requestTimeout: TRANSFER_MS })
        return sent.then(
          ({ ETag: etag }) => ({ etag }),
          (error) => {
            if (isConflict(error)) return undefined
            throw error
          },
        )
      },
      { signal, bytes: facts.bytes },
    )

  /** Whether the last object was only hidden, and its bytes are kept as an older version. */
  let keepsVersions = false

  /** Some stores answer 404 where there is nothing to remove. */
  const remove = (file: string): Promise<void> =>
    callFor('DELETE', CALL_MS, async ({ sdk, client, options }) => {
      const { DeleteMarker = false } = await client.send(new sdk.DeleteObjectCommand(at(file)), options)
      keepsVersions = DeleteMarker
    })

  /** Whoever held a signed put without conditions could replace a published image with it. */
  const requireConditions = (): void => {
    if (store.features.conditional !== 'all')
      throw new Error(
        `The bucket "${storage.bucket}" takes no conditional puts, which uploads through the server need: give workers a key of it, with UPLOAD_VIA=direct.`,
      )
  }

  const objects: Objects = {
    put: async (file, content, facts, { signal }) =>
      (await put(store.features, file, content, facts, signal)) !== undefined,
    head: async (file) => (store.lookup ? head(file) : 'unknown'),
  }

  return {
    head,
    objects,

    /**
     * Puts random bytes where an upload will be stored, and resolves to their ETag: a put that replaces exactly these
     * can be stored once, and no longer once they are removed. Undefined: another object is there than `replaces`.
     */
    async reserve(file: string, replaces: string | undefined): Promise<string | undefined> {
      requireConditions()
      const content = randomBytes(32)
      const facts = { bytes: content.length, sha256: sha256Of(content).digest('base64'), replaces }
      return (await put(store.features, file, content, facts))?.etag
    },

    /** For who has no key: a put of these bytes and no others, to be begun soon. */
    async presignPut(file: string, facts: ObjectFacts): Promise<PresignedPut> {
      requireConditions()
      return call('PUT', CALL_MS, async ({ sdk, client }) => {
        const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner')
        const input = putInput(file, facts, store.features)
        const headers: Record<string, string> = {
          'content-length': String(facts.bytes),
          'content-type': contentTypeOf(file),
          'cache-control': CACHE_CONTROL,
          ...(store.features.checksum && { 'x-amz-checksum-sha256': facts.sha256 }),
          ...(facts.replaces === undefined ? { 'if-none-match': '*' } : { 'if-match': facts.replaces }),
        }
        const url = await getSignedUrl(client, new sdk.PutObjectCommand(input), {
          expiresIn: PRESIGNED_FOR_SECONDS,
          // The SDK knows from the calls before if the clock of this host is wrong by more than five minutes.
          signingDate: new Date(Date.now() + client.config.systemClockOffset),
          signableHeaders: new Set([...SIGNED_HEADERS, 'host', 'x-amz-checksum-sha256']),
          unhoistableHeaders: new Set(['x-amz-checksum-sha256']),
        })
        return { url, headers }
      })
    },

    read: (file: string): Promise<Buffer | undefined> =>
      callFor('GET', TRANSFER_MS, async ({ sdk, client, options }) => {
        const { Body } = await client.send(new sdk.GetObjectCommand(at(file)), options)
        return Buffer.concat(await addAbortSignal(options.abortSignal, Body as Readable).toArray())
      }).catch((error) => {
        // This one may just not be there: it must not end a walk over all images.
        if (store.hidesMissing && isForbidden(error)) throw new FileUnreadable(error.message, error.refusal ?? '')
        throw error
      }),

    remove,

    /** The names of all files, in pages. */
    async *list(): AsyncGenerator<string[]> {
      let ContinuationToken: string | undefined
      do {
        const page = await call('LIST', CALL_MS, ({ sdk, client, options }) =>
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
        const { IsTruncated, NextContinuationToken = IsTruncated ? '' : undefined } = page
        const next = IsTruncated === false ? undefined : NextContinuationToken
        // Who asked again would get the same page for ever, and who stopped here would take all others for lost.
        if (next === '' || (next !== undefined && next === ContinuationToken))
          throw new Error(
            `The bucket "${storage.bucket}" does not list what comes after its first objects: look into the log of the store.`,
          )
        ContinuationToken = next
      } while (ContinuationToken)
    },

    /** `ImageStore.check` */
    async check(): Promise<StoreLacks> {
      const file = `${probeName}.webp`
      const { lacks, ...learned } = await probeCapabilities({
        put: async (features, content, facts) => (await put(features, file, content, facts)) !== undefined,
        lookUp: (lookup) => lookUp(lookup, file),
        lookForNone: (lookup) => lookUp(lookup, `${newProbeName()}.webp`),
      })
      Object.assign(store, learned)
      const problem = await probeObjects({ ...objects, remove }, probeName, probeBytes)
      const named = `The bucket "${storage.bucket}"`
      const missing = [
        lacks.length > 0 &&
          `${named} lacks ${lacks.join(', ')}: Easel does without, and docs/operators.md says what that costs.`,
        keepsVersions &&
          `${named} keeps versions, so what is removed stays in it: switch versioning off, or let a lifecycle rule delete old versions after a day.`,
      ]
      return { problem, missing: missing.filter(Boolean).join(' ') || undefined }
    },

    async open(request: FileRequest): Promise<PublicFile | undefined> {
      const { name, range } = request
      const { ifMatch, ifUnmodifiedSince, ifNoneMatch, ifModifiedSince } = request
      const conditions = [ifMatch, ifUnmodifiedSince, ifNoneMatch, ifModifiedSince]
      if (request.head || conditions.some((it) => it !== undefined)) {
        const found = await head(name)
        if (found && !isWanted(request, found)) return { status: 412, headers: headersOf(found) }
        // Where it is not found it is asked for all the same: only then a store says that the whole bucket is missing.
        if (found && isNotModified(request, found)) return { status: 304, headers: headersOf(found) }
        if (found && request.head)
          return { status: 200, headers: { ...headersOf(found), 'content-length': String(found.bytes) } }
      }
      const answer = await callFor('GET', CALL_MS, ({ sdk, client, options }) =>
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
            ...headersOf({ etag: answer.ETag ?? '', changedAt: answer.LastModified }),
            ...(answer.ContentLength !== undefined && { 'content-length': String(answer.ContentLength) }),
            ...(answer.ContentRange !== undefined && { 'content-range': answer.ContentRange }),
          },
          body: answer.Body as Readable,
        }
      )
    },
  }
}

const CONTENT_TYPES: Readonly<Record<string, string>> = { png: 'image/png', webp: 'image/webp' }
const contentTypeOf = (file: string) => CONTENT_TYPES[file.split('.').at(-1) as string] ?? 'application/octet-stream'
