/** Where images are kept, as STORAGE_URL says. */
import { resolve } from 'node:path'

export type Storage = FileStorage | S3Storage

export interface FileStorage {
  readonly kind: 'file'
  /** Absolute. */
  readonly path: string
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

export const STORAGE_FORM = 'must be file:PATH or s3://BUCKET/PREFIX'

/** No part of the prefix is `.` or `..`: on the way to the store they would lead to other keys, or out of the bucket. */
const S3_URL = /^s3:\/\/([\w.-]{3,63})((?:\/(?!\.{1,2}(?:\/|$))[\w!.*'()-]+)*)\/?$/

export const isStorageUrl = (url: string): boolean => /^file:./.test(url) || S3_URL.test(url)

/** Takes a URL apart for which `isStorageUrl` holds. */
export function storageOf(url: string, access: S3Access): Storage {
  const [, bucket, path = ''] = S3_URL.exec(url) ?? []
  if (bucket === undefined) return { kind: 'file', path: resolve(url.slice('file:'.length)) }
  return { kind: 's3', bucket, prefix: path && `${path.slice(1)}/`, ...access }
}

/** Whether the URL names this storage. */
export const isStorage = (storage: Storage, url: string): boolean =>
  isStorageUrl(url) && storageName(storageOf(url, NO_ACCESS)) === storageName(storage)

const NO_ACCESS: S3Access = { endpoint: undefined, region: '', forcePathStyle: false, key: undefined }

/** As in STORAGE_URL, for people. */
export const storageName = (storage: Storage): string =>
  storage.kind === 'file' ? `file:${storage.path}` : `s3://${storage.bucket}/${storage.prefix}`
