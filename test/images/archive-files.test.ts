import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { archiveFiles } from '../../src/images/archive-files.js'
import type { StoreConfig } from '../../src/images/open-image-store.js'
import { parseConfig } from '../../src/process/config.js'
import { type S3Server, startS3 } from '../support/s3-server.js'

const bytes = Buffer.from('generations of long ago')

let directory: string
let s3: S3Server
let config: StoreConfig
let old: StoreConfig
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'easel-archive-'))
  s3 = await startS3(directory)
  const configOf = async (bucket: string) =>
    parseConfig({ DATABASE_URL: 'postgres://db/easel', ...(await s3.env(bucket)) })
  config = await configOf('easel')
  old = await configOf('older')
})
afterAll(async () => {
  await s3.close()
  await rm(directory, { recursive: true, force: true })
})
afterEach(() => {
  s3.fault = undefined
  s3.hidesMissing = false
})

it('a file is stored also if the answer to its put is lost', async () => {
  const [files, id] = [archiveFiles(config), randomUUID()]
  let lost = 0
  s3.fault = (request, response) => {
    if (request.method === 'PUT' && lost++ === 0) response.end = () => request.socket.destroy() as never
    return 'pass'
  }
  await files.put(id, bytes)
  expect(lost).toBe(2)
  expect(await files.read(id)).toEqual(bytes)
})

it('a file of the older store is read also while the newer one forbids to look at what is not there', async () => {
  const id = randomUUID()
  await archiveFiles(old).put(id, bytes)
  s3.hidesMissing = true
  const both = archiveFiles({ storage: config.storage, oldStorage: old.storage })
  expect(await both.read(id)).toEqual(bytes)
  await expect(both.read(randomUUID())).rejects.toThrow('403')
  await both.remove(id)
  await expect(archiveFiles(old).read(id)).rejects.toThrow('403')
})
