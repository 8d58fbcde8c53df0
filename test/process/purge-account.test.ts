import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { operatorUserStore } from '../../src/db/accounts/accounts.js'
import { purgeOf } from '../../src/process/purge-account.js'
import { givenImages } from '../support/given-images.js'
import { givenUser } from '../support/givens.js'
import { refuse, type S3Server, startS3 } from '../support/s3-server.js'
import { useService } from '../support/service.js'

let directory: string
let s3: S3Server
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'easel-purge-'))
  s3 = await startS3(directory)
})
afterAll(async () => {
  await s3.close()
  await rm(directory, { recursive: true, force: true, maxRetries: 20 })
})
const context = useService(async () => ({ env: await s3.env('purge') }))

it('wiping an account goes on after single files that cannot be removed, and ends when the store removes none', async () => {
  const { db, config } = context.service
  const user = await givenUser(db)
  const slugs = await givenImages(db, user, Array(100).fill({}))
  await operatorUserStore(db).delete(user.id)
  const asked = new Set<string>()
  const refusing = (isRefused: (n: number) => boolean) => {
    asked.clear()
    s3.fault = ({ method, url = '' }, response) => {
      const slug = slugs.find((it) => url.includes(it))
      if (method !== 'DELETE' || !slug) return 'pass'
      asked.add(slug)
      return isRefused(slugs.indexOf(slug)) ? refuse(response, 403, 'AccessDenied') : 'pass'
    }
  }
  onTestFinished(() => {
    s3.fault = undefined
  })
  refusing((n) => n % 10 === 0)
  await expect(purgeOf(db, config)(user.id)).rejects.toThrow('AccessDenied')
  expect(asked.size).toBe(100)
  refusing(() => true)
  await expect(purgeOf(db, config)(user.id)).rejects.toThrow('AccessDenied')
  expect(asked.size).toBeLessThan(50)
})
