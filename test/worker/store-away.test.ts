import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { givenFileError } from '../support/broken-files.js'
import { call, endOf, PROMPT } from '../support/client.js'
import { chargesOf, givenUser, rowOf } from '../support/givens.js'
import { useService } from '../support/service.js'
import { until } from '../support/until.js'
import { QUICK } from '../support/worker-times.js'

const directory = await mkdtemp(join(tmpdir(), 'easel-away-'))
const storage = join(directory, 'images')
/** While a test waits for the store, it polls more often than a minute allows, and would wait for the next one. */
const MANY_POLLS = { RATE_LIMIT_MAX: '100000' }
afterAll(() => rm(directory, { recursive: true, force: true, maxRetries: 20 }))

describe('an image directory that is away when everything starts', () => {
  const context = useService(async () => {
    await writeFile(storage, 'a file where the directory should be')
    return { worker: { times: QUICK }, env: { ...MANY_POLLS, STORAGE_URL: `file:${storage}` } }
  })

  it('stops neither submits nor polls, and gets its images once it is back', async () => {
    const { service } = context
    const user = await givenUser(service.db)
    const body = { ...PROMPT, width: 256, height: 256, steps: 1 }
    const submitted = await call(service.url, 'POST', '/api/v1/generate', { key: user.key, body })
    expect(submitted.status).toBe(201)
    expect((await call(service.url, 'GET', `/cdn/${'a'.repeat(22)}.png`)).status).toBe(404) // Postgres knows no such image

    // Its worker asks the store again and again, and draws nothing meanwhile.
    const backend = async () => (await service.db.pool.query('SELECT up, seen_at FROM backends')).rows[0]
    await until(async () => (await backend())?.up === false, 'the store being found away')
    const { attempt } = await rowOf(service.db, submitted.body)
    for (let checks = 0; checks < 3; checks++) {
      const { seen_at: before } = await backend()
      await until(async () => (await backend()).seen_at > before, 'another look at the store')
    }
    expect([(await backend()).up, (await rowOf(service.db, submitted.body)).attempt]).toEqual([false, attempt])
    await rm(storage)
    await mkdir(storage)
    const ended = await endOf(service, user, submitted.body.id)
    expect(ended).toMatchObject({ status: 'succeeded' })
    expect(await chargesOf(service.db, user)).toEqual([['charge', -1]])
    const [image] = (ended.output as { images: { id: string }[] }).images
    expect((await call(service.url, 'GET', `/cdn/${image?.id}.png`)).status).toBe(200)
  })
})

describe('an image directory that is there', () => {
  const context = useService({ worker: { times: QUICK }, inFiles: true, env: MANY_POLLS })

  async function submit() {
    const { service } = context
    const user = await givenUser(service.db)
    const body = { ...PROMPT, width: 256, height: 256, steps: 1 }
    const { body: generation } = await call(service.url, 'POST', '/api/v1/generate', { key: user.key, body })
    return {
      end: () => endOf(service, user, generation.id),
      row: () => rowOf(service.db, generation),
      charges: () => chargesOf(service.db, user),
    }
  }

  it.each(['EINVAL', 'EIO', 'ENOTSUP'])(
    'gets its images at the first attempt if it can not be synced: %s',
    async (code) => {
      await givenFileError(code, 'sync', 'directory')
      const generation = await submit()
      expect(await generation.end()).toMatchObject({ status: 'succeeded' })
      expect((await generation.row()).attempt).toBe(1)
    },
  )

  it.each(['ENOSPC', 'EROFS', 'EIO'])('is not drawn for again and again when it refuses later on: %s', async (code) => {
    const { mend } = await givenFileError(code, 'writeFile', 'file')
    const first = await submit()
    expect(await first.end()).toMatchObject({
      status: 'failed',
      error: 'The images were drawn but could not be stored. Please submit it again.',
    })
    expect((await first.row()).attempt).toBe(1)
    expect(await first.charges()).toEqual([
      ['charge', -1],
      ['refund', 1],
    ])
    const second = await submit()
    const backend = async () => (await context.service.db.pool.query('SELECT up, error FROM backends')).rows[0]
    await until(async () => {
      const { up, error } = await backend()
      return !up && error.startsWith("Images can't be stored in /") && error.includes(code)
    }, 'the backend being paused')
    mend()
    expect(await second.end()).toMatchObject({ status: 'succeeded' })
    expect((await second.row()).attempt).toBe(1)
  })
})
