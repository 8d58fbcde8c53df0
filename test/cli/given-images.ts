import { createHash } from 'node:crypto'
import sharp from 'sharp'
import type { Generation } from '../../src/core/generations/generation.js'
import type { ClaimedGeneration, StoredImage } from '../../src/core/generations/run/ports.js'
import { runStore } from '../../src/db/generations/run.js'
import { fileImageStore } from '../../src/images/file-image-store.js'
import { type GivenUser, givenGeneration } from '../support/givens.js'
import type { Easel } from './easel.js'

export const SIDE = 8
const drawn = sharp({ create: { width: SIDE, height: SIDE, channels: 3, background: 'teal' } })
const png = drawn.clone().png().toBuffer()
const webp = drawn.clone().webp().toBuffer()

export const imagesOf = ({ storage }: Easel) => fileImageStore({ root: storage, cdnBaseUrl: 'https://easel.test/cdn' })

/** Stores an image's file as the worker does. */
export async function givenImage(easel: Easel, slug: string): Promise<StoredImage> {
  const bytes = await png
  await imagesOf(easel).put(slug, bytes, { thumbnail: await webp })
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  return { slug, seed: 42, width: SIDE, height: SIDE, bytes: bytes.length, sha256, hasThumbnail: true }
}

/** As a worker's claim leaves it. */
export async function givenProcessing({ db }: Easel, { id }: { readonly id: string }): Promise<void> {
  await db.pool.query(
    `UPDATE generations SET status = 'processing', worker = 'w', backend = 'preview:', started_at = now(),
       lease_until = now() + interval '1 hour' WHERE id = $1`,
    [id],
  )
}

/** A generation that succeeded, with the files of its images. */
export async function givenSucceeded(
  easel: Easel,
  user: GivenUser,
  asked: Parameters<typeof givenGeneration>[2] = {},
): Promise<Generation> {
  const generation = await givenGeneration(easel.db, user, asked)
  await givenProcessing(easel, generation)
  const images = await Promise.all(generation.slugs.map((slug) => givenImage(easel, slug)))
  const claimed: ClaimedGeneration = { ...generation, attempt: 1, tries: 0 }
  if (!(await runStore(easel.db, { refundFailed: true }).succeed(claimed, images))) throw new Error('not succeeded')
  return generation
}
