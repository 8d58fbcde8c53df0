import { messageOf } from '../../../lib/causes.js'
import { retryFor } from '../../../lib/retry.js'
import { storable } from '../../../lib/text.js'
import { type ImageStore, ImageTooLarge } from '../../images/ports.js'
import type { InferredImage, MadeWith } from './backend.js'
import type { ClaimedGeneration, StoredImage } from './ports.js'

export interface FinishedImage {
  readonly png: Buffer
  readonly sha256: string
  /** A small WebP; undefined where it could not be made. */
  readonly thumbnail?: Buffer | undefined
}

/** Turns a backend's image into the published one: a PNG marked as AI-generated. @throws BackendError `bad_output` */
export type FinishImage = (
  bytes: Buffer,
  expected: { readonly width: number; readonly height: number; readonly seed: number; readonly model: string },
) => Promise<FinishedImage>

/** Looks at a finished image. Resolves to the categories for which it must not be published. @throws if nobody could look */
export type CheckImage = (
  png: Buffer,
  generation: ClaimedGeneration,
  signal?: AbortSignal,
) => Promise<readonly string[]>

export interface PublishPorts {
  readonly images: ImageStore
  readonly finishImage: FinishImage
  /** Without it images are not checked. */
  readonly checkImage?: CheckImage | undefined
}

/** An image must not be published, and nothing of its generation was stored. */
export class ImageRefused extends Error {
  readonly categories: readonly string[]

  constructor(categories: readonly string[]) {
    super(`an image was refused: ${categories.join(', ')}`)
    this.categories = categories
  }
}

/** Nobody could look at an image before it is published. */
export class ImageUnchecked extends Error {}

/** The image store failed: no generation is to blame, and the next one would fail, too. Its message is the store's. */
export class StoreFault extends Error {}

export const storeFault = (cause: unknown) => new StoreFault(messageOf(cause), { cause })

/** Another worker has taken the attempt over, and may have stored its images already. */
export class TakenOver extends Error {}

export interface Publishing {
  /** Whether this attempt may still replace an image. */
  readonly stillOurs: () => Promise<boolean>
  /** Aborts when the attempt must stop. */
  readonly signal?: AbortSignal | undefined
  /** For how long moderation is asked again about an image while it gives no answer. */
  readonly checkImageForMs: number
  /** For how long an image that the store refuses is put again. */
  readonly storeForMs: number
  /** Told of each refusal. */
  readonly onRefusal?: (fault: StoreFault) => void
}

/**
 * Checks, marks and stores the images; each is durable and readable before the generation may succeed. If one fails,
 * waits for the others: a file that is stored after its generation has failed would stay forever.
 * @throws ImageRefused; ImageUnchecked; StoreFault; ImageTooLarge; TakenOver; BackendError `bad_output` if one is not a
 *   valid image
 */
export async function publish(
  ports: PublishPorts,
  generation: ClaimedGeneration,
  inferred: InferredImage[],
  how: Publishing,
): Promise<StoredImage[]> {
  const finishing = inferred.map(({ bytes, seed, size = generation }) => {
    const { width, height } = size
    return ports.finishImage(bytes, { width, height, seed, model: generation.modelName })
  })
  // All of them before any is stored.
  const finished = await Promise.all(finishing)
  if (ports.checkImage) await requireAllowed(ports.checkImage, generation, finished, how)
  const publishing = finished.map((image, i) =>
    publishOne(ports, generation, image, inferred[i] as InferredImage, i, how),
  )
  await Promise.allSettled(publishing)
  return Promise.all(publishing)
}

async function requireAllowed(
  check: CheckImage,
  generation: ClaimedGeneration,
  finished: readonly FinishedImage[],
  { checkImageForMs, signal }: Publishing,
): Promise<void> {
  // One at a time: as text each takes a third more memory.
  for (const { png } of finished) {
    const flags = await retryFor(() => check(png, generation, signal), checkImageForMs, signal).catch((cause) => {
      throw new ImageUnchecked('an image could not be checked', { cause })
    })
    if (flags.length > 0) throw new ImageRefused(flags)
  }
}

async function publishOne(
  { images }: PublishPorts,
  generation: ClaimedGeneration,
  { png, sha256, thumbnail }: FinishedImage,
  { seed, madeWith, size = generation }: InferredImage,
  i: number,
  { stillOurs, signal, storeForMs, onRefusal }: Publishing,
): Promise<StoredImage> {
  const { id, attempt, slugs } = generation
  const { width, height } = size
  const slug = slugs[i] as string
  const options = { isWanted: stillOurs, thumbnail, by: { id, attempt }, signal }
  const put = async () => {
    try {
      const stored = await images.put(slug, png, options)
      return stored ? undefined : new TakenOver('the attempt was taken over')
    } catch (cause) {
      if (cause instanceof ImageTooLarge) return cause
      const fault = storeFault(cause)
      if (!signal?.aborted) onRefusal?.(fault)
      throw fault
    }
  }
  const final = await retryFor(put, storeForMs, signal)
  if (final) throw final
  const facts = { slug, seed, width, height, bytes: png.length, sha256, madeWith: withReadableVersion(madeWith) }
  return { ...facts, hasThumbnail: thumbnail !== undefined }
}

const VERSION_LENGTH = 100

/** The version is the server's own text. */
const withReadableVersion = ({ version, ...asked }: MadeWith): MadeWith => ({
  ...asked,
  version: version === null ? null : storable(version.replace(/\p{Cc}/gu, '').slice(0, VERSION_LENGTH)),
})
