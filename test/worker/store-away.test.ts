import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { call, endOf, PROMPT } from '../support/client.js'
import { chargesOf, givenUser } from '../support/givens.js'
import { useService } from '../support/service.js'

const directory = await mkdtemp(join(tmpdir(), 'easel-away-'))
const storage = join(directory, 'images')
afterAll(() => rm(directory, { recursive: true, force: true }))

describe('an image directory that is away when everything starts', () => {
  const context = useService(async () => {
    await writeFile(storage, 'a file where the directory should be')
    return { worker: true, env: { STORAGE_URL: `file:${storage}` } }
  })

  it('stops neither submits nor polls, and gets its images once it is back', async () => {
    const { service } = context
    const user = await givenUser(service.db)
    const body = { ...PROMPT, width: 256, height: 256, steps: 1 }
    const submitted = await call(service.url, 'POST', '/api/v1/generate', { key: user.key, body })
    expect(submitted.status).toBe(201)
    expect((await call(service.url, 'GET', `/cdn/${'a'.repeat(22)}.png`)).status).toBe(503)

    await rm(storage)
    await mkdir(storage)
    const ended = await endOf(service, user, submitted.body.id)
    expect(ended).toMatchObject({ status: 'succeeded' })
    expect(await chargesOf(service.db, user)).toEqual([['charge', -1]])
    const [image] = (ended.output as { images: { id: string }[] }).images
    expect((await call(service.url, 'GET', `/cdn/${image?.id}.png`)).status).toBe(200)
  })
})
