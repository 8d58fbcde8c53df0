/** Image files as objects: what a bucket does for us, whether it is reached directly or through the server. */
import { randomBytes } from 'node:crypto'
import type { Delivery } from '../core/generations/ports.js'
import { ImageTooLarge, type PutOptions } from '../core/images/ports.js'
import { messageOf } from '../lib/causes.js'
import { fileName, sha256Of } from './any-image-store.js'

/** What a put binds: nobody else can store other bytes with it. */
export interface ObjectFacts {
  readonly bytes: number
  /** As base64. */
  readonly sha256: string
  /** The ETag of what it replaces; undefined: there must be nothing yet; ANYTHING: the store lets nobody look. */
  readonly replaces: string | undefined
}

export const ANYTHING = '*'

export interface FoundObject {
  readonly bytes: number
  /** As base64; undefined where the store keeps none. */
  readonly sha256: string | undefined
  readonly etag: string
}

/** Each rejects with a sentence for the operator. `file`: its name, as IMAGE_FILE or PROBE_FILE has it. */
export interface Objects {
  /**
   * Resolves to false if another object is there than the one that it replaces.
   * @throws ImageTooLarge
   */
  put(file: string, content: Buffer, facts: ObjectFacts, options: PutTarget): Promise<boolean>
  /** What is there; `unknown`: the store lets nobody look. */
  head(file: string): Promise<FoundObject | 'unknown' | undefined>
}

interface PutTarget {
  readonly by?: Delivery | undefined
  readonly signal?: AbortSignal | undefined
}

/** Each time somebody else was quicker. */
const MAX_CONFLICTS = 3

/** Puts an image and its thumbnail, and reads back what the store has: `ImageStore.put` of every object store. */
export async function putImage(
  objects: Objects,
  slug: string,
  png: Buffer,
  options: PutOptions = {},
): Promise<boolean> {
  const { thumbnail } = options
  // The image last: where it is, so is its thumbnail.
  const thumbnailStored =
    thumbnail === undefined || (await putFile(objects, fileName(slug, 'webp'), thumbnail, options))
  return thumbnailStored && putFile(objects, fileName(slug), png, options)
}

async function putFile(objects: Objects, file: string, content: Buffer, options: PutOptions): Promise<boolean> {
  const { isWanted = async () => true, ...target } = options
  const sha256 = sha256Of(content).digest('base64')
  let found: FoundObject | undefined
  for (let conflicts = 0; ; conflicts++) {
    // Asked after looking: what another attempt stores from now on is no longer what this put may replace.
    if (!(await isWanted())) return false
    if (found?.sha256 === sha256) return true
    const facts = { bytes: content.length, sha256, replaces: found?.etag }
    if (await objects.put(file, content, facts, target)) break
    if (conflicts === MAX_CONFLICTS)
      throw new Error(`${file} could not be stored: something else replaces it all the time`)
    const there = await objects.head(file)
    found = there === 'unknown' ? { bytes: 0, sha256: undefined, etag: ANYTHING } : there
  }
  const kept = await objects.head(file)
  if (kept === 'unknown') return true
  if (kept?.bytes !== content.length)
    throw new Error(`${file} holds ${kept?.bytes ?? 'no'} bytes instead of ${content.length}`)
  if ((kept.sha256 ?? sha256) !== sha256) throw new Error(`${file} holds other bytes than were stored`)
  return true
}

/** In bytes. The largest has more than the pixels of the largest image, which don't shrink if they are noise. */
const SIZES = { thumbnail: 48 * 1024, usual: 2 * 1024 * 1024 }
const LARGEST = 9.5 * 1024 * 1024

interface ProbedObjects extends Objects {
  remove(file: string): Promise<void>
}

/**
 * Does what a put of the largest image does, and removes it. Resolves to what is wrong although images can be stored.
 * @param name of the probes; the same each time, so that they don't pile up where none can be removed
 * @param largest bytes of the largest probe; less is for tests
 */
export async function probeObjects(
  objects: ProbedObjects,
  name: string,
  largest = LARGEST,
): Promise<string | undefined> {
  const problems: string[] = []
  const note = (error: unknown) => void problems.push(messageOf(error))
  const [thumbnail, image] = [`${name}.webp`, `${name}.png`]
  const put = (file: string, bytes: number) => putFile(objects, file, randomBytes(bytes), {})
  try {
    await put(thumbnail, SIZES.thumbnail)
    await put(image, largest).catch(async (error) => {
      note(error)
      // Large images fail, one by one. The others need not wait.
      await put(image, Math.min(SIZES.usual, largest)).catch((usual) => {
        if (!(usual instanceof ImageTooLarge)) throw usual
        problems.splice(0, 1, usual.message)
      })
    })
  } finally {
    await Promise.all([thumbnail, image].map((file) => objects.remove(file))).catch(note)
  }
  return problems.join(' ') || undefined
}

/** Of a check's files, without their ends; see PROBE_FILE. */
export const newProbeName = () => `.probe.${randomBytes(8).toString('hex')}`
