import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { pollStore } from '../../src/db/generations/poll.js'
import { publishedImages } from '../../src/db/images/published-images.js'
import { creditsOf, givenGeneration, givenUser, rowOf } from '../support/givens.js'
import { useEasel } from './easel.js'
import { givenImage, givenProcessing, givenSucceeded, imagesOf } from './given-images.js'

const easel = useEasel()
const fileOf = (slug: string) => imagesOf(easel).read(slug)

describe('images remove', () => {
  it('takes the file away and leaves a page that says so', async () => {
    const user = await givenUser(easel.db)
    const { id, slugs } = await givenSucceeded(easel, user, { batchSize: 2 })
    const [slug, kept] = slugs as [string, string]
    const removed = await easel.json(['images', 'remove', slug, '--reason', 'shows a real person'])
    expect(removed).toEqual({ slug, removed_at: expect.any(String), reason: 'shows a real person' })
    expect(await fileOf(slug)).toBeUndefined()
    expect(await fileOf(kept)).toBeDefined()
    expect(await publishedImages(easel.db).find(slug)).toMatchObject({ removed: true })
    expect(await pollStore(easel.db).findOwned(user.id, id)).toMatchObject({ slugs: [kept] })
  })

  it('may be repeated, and then removes a file that was left behind', async () => {
    const user = await givenUser(easel.db)
    const { slugs } = await givenSucceeded(easel, user)
    const [slug] = slugs as [string]
    const first = await easel.json(['images', 'remove', slug, '--reason', 'first'])
    await givenImage(easel, slug)
    expect(await easel.json(['images', 'remove', slug, '--reason', 'second'])).toEqual(first)
    expect(await fileOf(slug)).toBeUndefined()
    expect(await easel.text(`images remove ${slug}`)).toBe(`Image ${slug} is removed.`)
  })

  it('marks the image as removed even where its file cannot be', async () => {
    const { slugs } = await givenSucceeded(easel, await givenUser(easel.db))
    const [slug] = slugs as [string]
    const directory = await mkdtemp(join(tmpdir(), 'easel-file-'))
    const occupied = join(directory, 'a-file')
    await writeFile(occupied, '')
    expect(await easel.error(`images remove ${slug}`, { STORAGE_URL: `file:${occupied}` })).toMatch(
      /^Images can't be stored in .*a-file; make it a writable directory or change STORAGE_URL/,
    )
    await rm(directory, { recursive: true })
    expect(await publishedImages(easel.db).find(slug)).toMatchObject({ removed: true })
  })

  it('refuses an ID that is no image', async () => {
    for (const slug of ['../../etc/passwd', '0123456789abcdefghijKL', 'x']) {
      expect(await easel.error(['images', 'remove', slug])).toBe(
        `No image has the ID "${slug}": it is the last part of the image's address.`,
      )
    }
    for (const reason of ['', '\u200b\u2060'])
      expect(await easel.error(['images', 'remove', '0123456789abcdefghijKL', '--reason', reason])).toBe(
        '--reason must be one line of 1 to 500 characters.',
      )
  })
})

describe('user delete', () => {
  it('cancels what is active and gives the credits back, but keeps images and prompts', async () => {
    const user = await givenUser(easel.db, { credits: 10 })
    const done = await givenSucceeded(easel, user)
    const active = await givenGeneration(easel.db, user, { batchSize: 2 })
    await givenProcessing(easel, active)
    expect(await easel.json(`user delete ${user.username}`)).toMatchObject({ canceled_jobs: [active.id], purged: null })
    expect(await rowOf(easel.db, active)).toMatchObject({ status: 'failed', error: 'Canceled.' })
    expect(await creditsOf(easel.db, user)).toBe(9)
    expect(await rowOf(easel.db, done)).toMatchObject({ prompt: 'a lighthouse at dusk' })
    expect(await fileOf(done.slugs[0] as string)).toBeDefined()
    expect(await easel.json(`jobs show ${done.id}`)).toMatchObject({ username: user.username, status: 'succeeded' })
  })

  it('keeps the user from being charged again', async () => {
    const user = await givenUser(easel.db)
    await easel.json(`user delete ${user.username}`)
    await expect(givenGeneration(easel.db, user)).rejects.toThrow('gone')
  })

  it('with --purge wipes prompts and images, also of a user deleted before, and nobody else’s', async () => {
    const user = await givenUser(easel.db)
    const other = await givenSucceeded(easel, await givenUser(easel.db))
    const first = await givenSucceeded(easel, user, { batchSize: 2, negativePrompt: 'fog' })
    await easel.json(['images', 'remove', first.slugs[0] as string, '--reason', 'asked for'])
    const second = await givenSucceeded(easel, user)
    const active = await givenGeneration(easel.db, user)
    // Left by an attempt that failed.
    await givenImage(easel, active.slugs[0] as string)
    await easel.json(`user delete ${user.username}`)
    expect(await easel.json(`user delete ${user.username} --purge`)).toMatchObject({
      id: user.id,
      canceled_jobs: [],
      purged: { prompts: 3, images: 2 },
    })
    for (const generation of [first, second, active]) {
      expect(await rowOf(easel.db, generation)).toMatchObject({ prompt: '', negative_prompt: '' })
      for (const slug of generation.slugs) expect(await fileOf(slug)).toBeUndefined()
    }
    expect((await easel.json(`jobs show ${first.id}`)).images).toMatchObject([
      { removed_reason: 'asked for' },
      { removed_at: expect.any(String), removed_reason: 'The account was deleted.' },
    ])
    expect(await rowOf(easel.db, other)).toMatchObject({ prompt: 'a lighthouse at dusk' })
    expect(await fileOf(other.slugs[0] as string)).toBeDefined()
    expect(await easel.text(`user delete ${user.username} --purge`)).toBe(
      `deleted         ${user.username}\ncanceled jobs   -\nprompts wiped   0\nimages removed  0`,
    )
  })

  it('with --purge does all at once to a user who is not deleted yet', async () => {
    const user = await givenUser(easel.db)
    const done = await givenSucceeded(easel, user)
    const active = await givenGeneration(easel.db, user)
    expect(await easel.json(`user delete ${user.username} --purge`)).toMatchObject({
      canceled_jobs: [active.id],
      purged: { prompts: 2, images: 1 },
    })
    expect(await fileOf(done.slugs[0] as string)).toBeUndefined()
    expect(await rowOf(easel.db, active)).toMatchObject({ prompt: '' })
  })

  it('with --purge wipes more prompts and images than one statement takes', async () => {
    const user = await givenUser(easel.db, { developer: { concurrency: 1 } })
    await easel.db.pool.query(
      `INSERT INTO generations (id, user_id, api_key_id, lane, metered, status, error, finished_at, model_version_id,
         model_name, filename, prompt, negative_prompt, width, height, batch_size, steps, cfg_scale, sampler, seed, slugs,
         cost, deadline_at)
       SELECT 'gen_purge' || n, $1, $2, 'personal', true, 'failed', 'Canceled.', now(), 1, 'm', 'f', 'p', '', 8, 8, 1, 1, 1,
              'ddim', 1, ARRAY[lpad(n::text, 22, '0')], 0, now()
         FROM generate_series(1, 2001) n`,
      [user.id, user.keyId],
    )
    await easel.db.pool.query(
      `INSERT INTO images (slug, generation_id, idx, seed, width, height, bytes, sha256)
       SELECT slugs[1], id, 0, 1, 8, 8, 1, 'x' FROM generations WHERE user_id = $1`,
      [user.id],
    )
    // As a purge leaves it that was ended on its way.
    await easel.db.pool.query(`UPDATE generations SET prompt = '' WHERE user_id = $1 AND id LIKE 'gen_purge1%'`, [
      user.id,
    ])
    const last = '2001'.padStart(22, '0')
    await givenImage(easel, last)
    expect(await easel.json(`user delete ${user.username} --purge`)).toMatchObject({
      purged: { prompts: 2001 - 1111, images: 2001 },
    })
    expect(await fileOf(last)).toBeUndefined()
  })
})
