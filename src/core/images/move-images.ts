import { createHash } from 'node:crypto'
import type { ImageStore, PublishedImages } from './ports.js'
import { isUnreadable, readFor } from './read-each.js'

/** An image that its row describes, and that was not removed. */
export interface MovingImage {
  readonly slug: string
  /** As hex. */
  readonly sha256: string
  readonly hasThumbnail: boolean
}

interface Store extends Pick<ImageStore, 'put' | 'remove'> {
  read(slug: string): Promise<Buffer | undefined>
  readThumbnail(slug: string): Promise<Buffer | undefined>
  sha256(slug: string, extension: 'png' | 'webp'): Promise<string | undefined>
}

export interface MovePorts {
  readonly from: Pick<Store, 'read' | 'readThumbnail'>
  readonly to: { readonly publicFiles: Store; readonly privateFiles: Store }
  /** In pages; those that are made meanwhile may be left out. */
  readonly images: AsyncIterable<readonly MovingImage[]>
  readonly published: PublishedImages
  /** Has an image's files brought to where they belong. */
  readonly moveAgain: (slug: string) => Promise<void>
  /** Told of each image that could not be read or stored. */
  readonly onFault: (slug: string, error: unknown) => void
}

/**
 * `present`: copied before, or stored there. `missing`: neither store has it whole. `different`: not as published.
 * `failed`: it could not be read or stored.
 */
type Outcome = 'copied' | 'present' | 'removed' | 'missing' | 'different' | 'failed'

interface Moved {
  readonly counts: Readonly<Record<Outcome, number>>
  /** Slugs of images that are missing or different or failed, the first ones. */
  readonly examples: readonly string[]
}

const AT_ONCE = 8
const EXAMPLES = 20
/** How long a store may be away. */
const PATIENCE_MS = 30_000
/** Beyond that it is not single images that fail. */
const FAILED_IN_A_ROW = 20
const WRONG: ReadonlySet<Outcome> = new Set(['missing', 'different', 'failed'])

/**
 * Copies what is not there yet, while images are made and removed: those that are made go to the newer store already,
 * and each one's row says what its bytes must be. It takes nothing away from the older store.
 * @param onProgress after each image
 * @throws what the store says, once too many images in a row have failed
 */
export async function moveImages(ports: MovePorts, onProgress: (done: number) => void): Promise<Moved> {
  const counts = { copied: 0, present: 0, removed: 0, missing: 0, different: 0, failed: 0 }
  const examples: string[] = []
  let done = 0
  let failedInARow = 0
  let hasMoved = false
  let lastFault: unknown
  const isOver = () => failedInARow > FAILED_IN_A_ROW
  const move = async (image: MovingImage): Promise<Outcome> => {
    try {
      const outcome = await readFor(() => moveImage(ports, image), PATIENCE_MS)
      failedInARow = 0
      hasMoved = true
      return outcome
    } catch (error) {
      // However many lie in cold storage, the others are moved.
      if (!hasMoved || !isUnreadable(error)) failedInARow++
      lastFault = error
      ports.onFault(image.slug, error)
      return 'failed'
    }
  }
  for await (const page of ports.images) {
    const waiting = page.values()
    const work = async () => {
      for (const image of waiting) {
        if (isOver()) return
        const outcome = await move(image)
        counts[outcome]++
        if (WRONG.has(outcome) && examples.length < EXAMPLES) examples.push(image.slug)
        onProgress(++done)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    if (isOver()) throw lastFault
  }
  return { counts, examples }
}

async function moveImage({ from, published, moveAgain, ...ports }: MovePorts, image: MovingImage): Promise<Outcome> {
  const { slug, sha256, hasThumbnail } = image
  const isPrivate = (await published.find(slug))?.isPrivate
  const to = isPrivate ? ports.to.privateFiles : ports.to.publicFiles
  // A put stores the thumbnail first, so beside the right image it is the right one.
  if ((await to.sha256(slug, 'png')) === sha256 && (!hasThumbnail || (await to.sha256(slug, 'webp')))) return 'present'
  const isWanted = async () => {
    const found = await published.find(slug)
    return found?.removed === false && found.isPrivate === isPrivate
  }
  const png = await from.read(slug)
  if (!png) return (await isWanted()) ? 'missing' : 'removed'
  if (hashOf(png) !== sha256) return 'different'
  const thumbnail = hasThumbnail ? await from.readThumbnail(slug) : undefined
  const stored = await to.put(slug, png, { thumbnail, isWanted })
  if (!stored || !(await isWanted())) {
    if ((await published.find(slug))?.removed !== false) {
      // Its row is marked before its files are removed: whoever removes it from now on finds this copy.
      await to.remove(slug)
      return 'removed'
    }
    // A server removes this copy, if it still is in the wrong place then: the owner may change it once more.
    await moveAgain(slug)
    throw new Error('its owner made it private or public meanwhile')
  }
  if ((await to.sha256(slug, 'png')) !== sha256) return 'different'
  if (thumbnail && (await to.sha256(slug, 'webp')) !== hashOf(thumbnail)) return 'different'
  return hasThumbnail && !thumbnail ? 'missing' : 'copied'
}

const hashOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
