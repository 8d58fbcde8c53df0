import { createHash } from 'node:crypto'
import { readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { newSlug } from '../../../src/core/generations/generation.js'
import { givenImage } from '../../cli/given-images.js'
import { useAudited } from './audited.js'

const audited = useAudited()
const { breaking, fileOf, set, violated } = audited
const past = new Date(Date.now() - 660_000)
const slug = () => audited.succeeded.slugs[0] as string

it('an audit finds an image that is missing or changed', async () => {
  await rm(fileOf(slug()))
  expect(await violated()).toEqual({ 'images-are-stored-intact': 1 })
  await writeFile(fileOf(audited.metered.slugs[0] as string), 'something else')
  expect(await violated()).toEqual({ 'images-are-stored-intact': 2 })
  expect(await violated({}, { full: true })).toEqual({ 'images-are-stored-intact': 2 })
})

it('an audit finds an image whose file cannot be read, and goes on with the other images', async () => {
  const [file, other] = [fileOf(slug()), fileOf(audited.metered.slugs[0] as string)]
  await rm(file)
  await symlink(other, file)
  expect(await violated()).toEqual({ 'images-are-stored-intact': 1 })
  await writeFile(other, 'something else')
  expect(await violated()).toEqual({ 'images-are-stored-intact': 2 })
})

it('an audit finds an image whose thumbnail is missing or broken, and a thumbnail that outlived its image', async () => {
  const thumbnailOf = (name: string) => fileOf(name).replace(/png$/, 'webp')
  const webp = await readFile(thumbnailOf(slug()))
  await writeFile(thumbnailOf(slug()), webp.subarray(0, -1))
  expect(await violated()).toEqual({ 'images-are-stored-intact': 1 })
  await rm(thumbnailOf(slug()))
  expect(await violated()).toEqual({ 'images-are-stored-intact': 1 })
  await breaking('UPDATE images SET has_thumbnail = false WHERE slug = $1', [slug()])
  expect(await violated()).toEqual({})
  await writeFile(thumbnailOf(audited.succeeded.slugs[1] as string), webp)
  expect(await violated()).toEqual({ 'removed-images-have-no-file': 1 })
  const stray = thumbnailOf(newSlug())
  await writeFile(stray, webp)
  await utimes(stray, past, past)
  expect(await violated({}, { full: true })).toMatchObject({ 'files-belong-to-images': 1 })
})

it('an audit finds an image that is no whole PNG, or not of the size that its row says', async () => {
  const store = async (name: string, bytes: Buffer) => {
    await writeFile(fileOf(name), bytes)
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    await breaking('UPDATE images SET sha256 = $2 WHERE slug = $1', [name, sha256])
  }
  const png = await readFile(fileOf(slug()))
  const flipped = Buffer.from(png)
  flipped.writeUInt8(flipped.readUInt8(50) ^ 1, 50)
  for (const broken of [Buffer.from('<svg/>'), png.subarray(0, -12), Buffer.concat([png, Buffer.from('x')]), flipped]) {
    await store(slug(), broken)
    expect(await violated()).toEqual({ 'images-are-stored-intact': 1 })
  }
  await store(slug(), png)
  expect(await violated()).toEqual({})
  await breaking('UPDATE images SET width = width + 8 WHERE slug = $1', [slug()])
  expect(await violated()).toMatchObject({ 'images-are-stored-intact': 1 })
})

it('an audit finds that every image is missing where the directory is not there', async () => {
  expect(await violated({ STORAGE_URL: `file:${audited.easel.storage}/elsewhere` })).toEqual({
    'images-are-stored-intact': 4,
  })
})

it('an audit finds the file of an image that was taken down', async () => {
  await givenImage(audited.easel, audited.succeeded.slugs[1] as string)
  expect(await violated()).toEqual({ 'removed-images-have-no-file': 1 })
  expect(await violated({}, { full: true })).toEqual({ 'removed-images-have-no-file': 1 })
})

it('an audit finds a file that belongs to nothing, once it had time to be recorded', async () => {
  const stray = newSlug()
  const coming = audited.running.slugs[0] as string
  const notes = join(audited.easel.storage, 'notes.txt')
  await givenImage(audited.easel, stray)
  await givenImage(audited.easel, coming)
  await writeFile(notes, 'not ours')
  expect(await violated({}, { full: true })).toEqual({})
  for (const file of [fileOf(stray), fileOf(coming), notes]) await utimes(file, past, past)
  expect(await violated({}, { full: true })).toEqual({ 'files-belong-to-images': 1 })
})

it('an audit finds the files of a failed job ten minutes after its end, when they should have been removed', async () => {
  const left = audited.failed.slugs[0] as string
  await givenImage(audited.easel, left)
  await set(audited.failed, 'started_at = created_at')
  expect(await violated()).toEqual({})
  await breaking(
    `UPDATE generations SET created_at = created_at - interval '11 minutes', started_at = created_at - interval '11 minutes',
       finished_at = finished_at - interval '11 minutes' WHERE id = $1`,
    [audited.failed.id],
  )
  expect(await violated()).toMatchObject({ 'failed-jobs-leave-no-file': 1 })
  await utimes(fileOf(left), past, past)
  expect(await violated({}, { full: true })).toMatchObject({
    'failed-jobs-leave-no-file': 1,
    'files-belong-to-images': 1,
  })
})
