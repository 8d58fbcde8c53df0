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
  /** Claims some that are due: nobody else moves them until their leases end, whatever their owners change. */
  claimDue(): Promise<ClaimedMove[]>
  /** Prolongs the lease. Resolves to the new one; undefined: somebody else has it, or the image was changed. */
  renew(slug: string, lease: string): Promise<string | undefined>
  /** The same before files are removed: for REMOVAL_SECONDS the opposite move waits, whoever makes it, unless this one ends before. */
  beginRemoval(slug: string, lease: string): Promise<BegunRemoval | undefined>
  /** Whether it was taken down meanwhile. */
  isRemoved(slug: string): Promise<boolean>
  /**
   * Ends it; if the image was changed since, it is due again at once. It stays, and is made again later, while a removal of somebody
   * else may still be carried out.
   */
  finish(
    move: Pick<ClaimedMove, 'slug' | 'changes'> & Partial<Pick<ClaimedMove, 'attempts'>>,
    isOtherRemoving?: boolean,
  ): Promise<void>
  /** It has failed: due again after a pause that grows. `mayRemove`: what was asked to be removed may still go. */
  postpone(move: ClaimedMove, mayRemove: boolean): Promise<void>
}

export interface ClaimedMove extends ImageMove {
  /** Another one after each renewal. */
  readonly lease: string
  /** How often it was claimed. */
  readonly attempts: number
}

export interface BegunRemoval {
  readonly lease: string
  /** A server before may have died while it removed files, and the store may still carry that out. */
  readonly isOtherRemoving: boolean
}

/** When a server dies, another one makes its moves after this. */
export const LEASE_SECONDS = 15
const RENEW_EVERY_MS = 4_000
/** Longer than a store takes to carry out a removal that it did not answer. */
export const REMOVAL_SECONDS = 180

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

/** Renews the lease of a move until it is ended. */
function keepLease(moves: Pick<ImageMoves, 'renew' | 'beginRemoval'>, move: ClaimedMove) {
  let lease: string | undefined = move.lease
  let turn: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = turn.then(work)
    turn = done.catch(() => undefined)
    return done
  }
  const renew = async () => {
    if (lease !== undefined) lease = await moves.renew(move.slug, lease)
  }
  const timer = setInterval(() => void inTurn(renew).catch(() => undefined), RENEW_EVERY_MS).unref()
  return {
    /** @throws when somebody else makes the move by now */
    beginRemoval: () =>
      inTurn(async () => {
        const begun = lease === undefined ? undefined : await moves.beginRemoval(move.slug, lease)
        if (!begun) throw new Error(`The files of ${move.slug} are moved by another server by now.`)
        lease = begun.lease
        return begun
      }),
    end: () => clearInterval(timer),
  }
}

/**
 * Brings an image's files to where they belong. Each step may be repeated, and the copy is complete before the original is
 * removed, so a crash loses nothing. @throws what the store or the CDN says
 */
async function moveFiles(
  { moves, publicFiles, privateFiles, purge }: MoveFilesPorts,
  move: ClaimedMove,
  signal: AbortSignal,
): Promise<void> {
  const { slug, isPrivate, removed } = move
  const [from, to] = isPrivate ? [publicFiles, privateFiles] : [privateFiles, publicFiles]
  const lease = keepLease(moves, move)
  let isOtherRemoving = false
  try {
    const isThere = removed || (await copy(from, to, move))
    // Its row is marked before its files are removed: whoever takes it down from now on finds the copy.
    const isGone = removed || (await moves.isRemoved(slug))
    if (isThere || isGone) {
      // At the last moment: from here on nothing tells whether another server has begun the opposite.
      isOtherRemoving = (await lease.beginRemoval()).isOtherRemoving
      await Promise.all([from.remove(slug), isGone && to.remove(slug)]).catch((cause) => {
        throw new RemovalUnsure(`The files of ${slug} could not be removed.`, { cause })
      })
    }
    // After the file: a CDN that fetches it again must not get it. Also what it keeps of a file that was not there.
    for (const url of [publicFiles.url(slug), publicFiles.thumbnailUrl(slug)]) await purge?.(url, signal)
    await moves.finish(move, isOtherRemoving)
  } catch (error) {
    await moves.postpone(move, isOtherRemoving || error instanceof RemovalUnsure)
    throw error
  } finally {
    lease.end()
  }
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
  repeatedly((signal) => workOff(ports.moves.claimDue, (due) => moveFiles(ports, due, signal), signal), onFault)
