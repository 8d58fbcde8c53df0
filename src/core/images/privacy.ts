/** Who may see an image, and the moves of its files between where everybody may read them and where only servers do. */
import { createHash } from 'node:crypto'
import { repeatedly, workOff } from '../../lib/repeatedly.js'
import type { ImageStore } from './ports.js'
import type { PurgeCdn } from './takedown.js'

export interface ImagePrivacy {
  /** Those of these images that the account has; their files follow within seconds. Resolves to how many changed. */
  set(accountId: string, slugs: readonly string[], isPrivate: boolean): Promise<number>
  /** Of what the account makes on the website from now on. */
  setNew(accountId: string, isPrivate: boolean): Promise<void>
  /** Ends all links that were made to an image of the account. */
  revokeLinks(accountId: string, slug: string): Promise<void>
  /** Whether its files are still on their way. */
  isMoving(slug: string): Promise<boolean>
}

/** An image whose files are to be moved, as its row is now. */
export interface ImageMove {
  readonly slug: string
  /** What `finish` compares. */
  readonly changes: number
  readonly isPrivate: boolean
  readonly removed: boolean
  /** As hex. */
  readonly sha256: string
  readonly hasThumbnail: boolean
}

export interface ImageMoves {
  /** Claims some that are due: for LEASE_SECONDS nobody else moves them, whatever their owners change. */
  claimDue(): Promise<ImageMove[]>
  /** Whether it was taken down meanwhile. */
  isRemoved(slug: string): Promise<boolean>
  /** Ends it; if the image was changed since, it is due again at once. */
  finish(move: ImageMove): Promise<void>
  /** It has failed: due again after a pause that grows, and is no shorter than this. */
  postpone(move: ImageMove, atLeastSeconds: number): Promise<void>
}

export const LEASE_SECONDS = 180
/** Nothing is removed later than this after the claim: what the store still does then ends within the lease. */
const REMOVE_WITHIN_MS = 60_000

/** The store may still remove the files: it did not say. If they are wanted there by then, they must come later. */
class RemovalUnsure extends Error {}

interface Files extends Pick<ImageStore, 'put' | 'remove'> {
  read(slug: string): Promise<Buffer | undefined>
  readThumbnail(slug: string): Promise<Buffer | undefined>
  sha256(slug: string, extension: 'png' | 'webp'): Promise<string | undefined>
}

export interface MoveFilesPorts {
  readonly moves: ImageMoves
  readonly publicFiles: Files & Pick<ImageStore, 'url' | 'thumbnailUrl'>
  readonly privateFiles: Files
  /** Undefined without a CDN. */
  readonly purge: PurgeCdn | undefined
}

/**
 * Brings an image's files to where they belong. Each step may be repeated, and the copy is complete before the original is
 * removed, so a crash loses nothing. @throws what the store or the CDN says
 */
async function moveFiles(
  { moves, publicFiles, privateFiles, purge }: MoveFilesPorts,
  move: ImageMove,
  signal: AbortSignal,
): Promise<void> {
  const begun = performance.now()
  const { slug, isPrivate, removed } = move
  const [from, to] = isPrivate ? [publicFiles, privateFiles] : [privateFiles, publicFiles]
  const isThere = removed || (await copy(from, to, move))
  if (performance.now() - begun > REMOVE_WITHIN_MS) throw new Error('The image store took too long.')
  // Its row is marked before its files are removed: whoever takes it down from now on finds the copy.
  const isGone = removed || (await moves.isRemoved(slug))
  if (isThere || isGone)
    await Promise.all([from.remove(slug), isGone && to.remove(slug)]).catch((cause) => {
      throw new RemovalUnsure(`The files of ${slug} could not be removed.`, { cause })
    })
  // After the file: a CDN that fetches it again must not get it. Also what it keeps of a file that was not there.
  for (const url of [publicFiles.url(slug), publicFiles.thumbnailUrl(slug)]) await purge?.(url, signal)
  await moves.finish(move)
}

/** Resolves to whether it is there; false: it is in neither place, which is for the audit to tell. */
async function copy(from: Files, to: Files, { slug, sha256, hasThumbnail }: ImageMove): Promise<boolean> {
  // After a crash the original may be gone, and some stores refuse to read what is not there.
  const isCopied = (await to.sha256(slug, 'png')) === sha256
  if (isCopied && (!hasThumbnail || (await to.sha256(slug, 'webp')) !== undefined)) return true
  const png = await from.read(slug)
  if (png && createHash('sha256').update(png).digest('hex') === sha256) {
    const thumbnail = hasThumbnail ? await from.readThumbnail(slug) : undefined
    await to.put(slug, png, { thumbnail })
  }
  const isThere = (await to.sha256(slug, 'png')) === sha256
  if (png && !isThere) throw new Error(`The file of ${slug} is not as it was published.`)
  return isThere
}

/** Moves the files of all images that were made private or public, in any number of processes. */
export const startImageMoves = (ports: MoveFilesPorts, onFault: (error: unknown) => void): { stop(): void } =>
  repeatedly((signal) => {
    const move = (due: ImageMove) =>
      moveFiles(ports, due, signal).catch(async (error) => {
        await ports.moves.postpone(due, error instanceof RemovalUnsure ? LEASE_SECONDS : 0)
        throw error
      })
    return workOff(ports.moves.claimDue, move, signal)
  }, onFault)
