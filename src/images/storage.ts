/** Where images are kept, as STORAGE_URL says. */
import { isIPv4 } from 'node:net'
import { resolve } from 'node:path'

export type Storage = FileStorage | S3Storage

interface FileStorage {
  readonly kind: 'file'
  /** Absolute. */
  readonly path: string
  /** Where it is part of a store: the directory that must be there. */
  readonly within?: string
}

export interface S3Storage extends S3Access {
  readonly kind: 's3'
  readonly bucket: string
  /** Of every key: empty, or with a slash at its end. */
  readonly prefix: string
}

/** How any bucket is reached. */
export interface S3Access {
  /** Undefined: AWS. */
  readonly endpoint: string | undefined
  readonly region: string
  readonly forcePathStyle: boolean
  /** Undefined: the SDK looks for one where its own tools do. */
  readonly key: { readonly id: string; readonly secret: string } | undefined
}

const S3_URL = /^s3:\/\/([^/]*)(.*?)\/?$/s

/** As the consoles of providers show the address of a bucket. A store of one's own may have the bucket's name itself. */
const PROVIDERS =
  /\.(amazonaws|digitaloceanspaces|backblazeb2|wasabisys|cloudflarestorage|linodeobjects|vultrobjects|your-objectstorage|aliyuncs|myqcloud|scw|ovh|exo|hetzner)\.\w+$/

/** Whether the endpoint has the bucket in it, which would then be named twice. */
export function namesBucket({ endpoint, bucket }: Pick<S3Storage, 'endpoint' | 'bucket'>): boolean {
  if (endpoint === undefined) return false
  const { hostname, pathname } = new URL(endpoint)
  return pathname.endsWith(`/${bucket}`) || (hostname.startsWith(`${bucket}.`) && PROVIDERS.test(hostname))
}

/** What is wrong with a STORAGE_URL, as the end of a sentence; undefined: nothing. */
export function storageUrlProblem(url: string): string | undefined {
  if (/^file:./.test(url)) return undefined
  const [, bucket, path = ''] = S3_URL.exec(url) ?? []
  if (bucket === undefined) return 'must be file:PATH or s3://BUCKET/PREFIX'
  return bucketProblem(bucket) ?? (PREFIX.test(path) ? undefined : BAD_PREFIX)
}

/** No part of it is `.` or `..`: on the way to the store they would lead to other keys, or out of the bucket. */
const PREFIX = /^(?:\/(?!\.{1,2}(?:\/|$))[\w!.*'()-]+)*$/

const BAD_PREFIX =
  "has a prefix that can't be used: write parts of letters, digits and -_.!*'(), none of them . or .., with one slash between them"

/** What no store takes. AWS has further rules, and says so itself. */
function bucketProblem(bucket: string): string | undefined {
  const named = `names the bucket "${bucket}"`
  if (bucket === '') return 'names no bucket: write s3://BUCKET/PREFIX'
  // Not repeated: it may be a key.
  if (/[^\w.-]/.test(bucket))
    return 'names a bucket with other characters than letters, digits, dots, hyphens and underscores'
  if (bucket.length < 3) return `${named}, which is too short: the name of a bucket has at least 3 characters`
  if (bucket.length > 63) return `${named}, which is too long: the name of a bucket has at most 63 characters`
  if (!/^[A-Za-z\d].*[A-Za-z\d]$/.test(bucket)) return `${named}, which must begin and end with a letter or a digit`
  if (bucket.includes('..')) return `${named}, which must not have two dots in a row`
  if (isIPv4(bucket)) return `${named}, which must not be an IP address`
  return undefined
}

/** Takes a URL apart that has no problem. */
export function storageOf(url: string, access: S3Access): Storage {
  const [, bucket, path = ''] = S3_URL.exec(url) ?? []
  if (bucket === undefined) return { kind: 'file', path: resolve(url.slice('file:'.length)) }
  return { kind: 's3', bucket, prefix: path && `${path.slice(1)}/`, ...access }
}

/** Whether the URL names this storage. */
export const isStorage = (storage: Storage, url: string): boolean =>
  !storageUrlProblem(url) && storageName(storageOf(url, NO_ACCESS)) === storageName(storage)

const NO_ACCESS: S3Access = { endpoint: undefined, region: '', forcePathStyle: false, key: undefined }

/** As in STORAGE_URL, for people. */
export const storageName = (storage: Storage): string =>
  storage.kind === 'file' ? `file:${storage.path}` : `s3://${storage.bucket}/${storage.prefix}`
