/** Where a test's service keeps its images: in a directory, or with TEST_STORAGE=s3 in the run's bucket. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'vitest'
import { newSlug } from '../../src/core/generations/generation.js'
import { type Storage, storageName } from '../../src/images/storage.js'
import type { Config } from '../../src/process/config.js'

export interface GivenStorage {
  readonly env: Readonly<Record<string, string>>
  remove(): Promise<void>
}

/** A storage of its own. `inFiles`: a directory in any case. */
export async function givenStorage(inFiles = false): Promise<GivenStorage> {
  const { s3 } = inject('services')
  // Whoever runs the tests is done with the bucket when they are.
  if (s3 && !inFiles)
    return { env: { ...s3, STORAGE_URL: `${s3.STORAGE_URL}/${newSlug()}` }, remove: async () => undefined }
  const directory = await mkdtemp(join(tmpdir(), 'easel-images-'))
  // A process that ends may still write the probe of its check.
  const remove = () => rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  return { env: { STORAGE_URL: `file:${directory}` }, remove }
}

/** The directory of a service that was given one. */
export function directoryOf({ storage }: { readonly storage: Storage }): string {
  if (storage.kind === 'file') return storage.path
  throw new Error('This service keeps its images in a bucket: start it with inFiles.')
}

/** The variables by which another process shares the storage. */
export function storageEnv({ storage }: Pick<Config, 'storage'>): Record<string, string> {
  if (storage.kind === 'file') return { STORAGE_URL: storageName(storage) }
  const { endpoint = '', key = { id: '', secret: '' } } = storage
  return {
    ...{ STORAGE_URL: storageName(storage), S3_ENDPOINT: endpoint },
    ...{ S3_ACCESS_KEY_ID: key.id, S3_SECRET_ACCESS_KEY: key.secret },
  }
}
