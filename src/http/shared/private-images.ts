import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ImageLinks } from '../../core/images/image-links.js'
import type { OpenPublicFile, PublishedImage } from '../../core/images/ports.js'

/** Who looks at an image in a browser. */
export interface Viewer {
  readonly accountId: string
  readonly isOperator: boolean
}

export interface PrivateImages {
  readonly open: OpenPublicFile
  readonly links: Pick<ImageLinks, 'isValid'>
  /** Undefined: nobody is signed in. */
  readonly viewerOf: (request: FastifyRequest) => Promise<Viewer | undefined>
}

type Checks = Pick<PrivateImages, 'links' | 'viewerOf'>
type Seen = Pick<PublishedImage, 'slug' | 'ownerId' | 'linkRevocations'>

const NONE: Seen = { slug: '0'.repeat(22), ownerId: '', linkRevocations: 0 }

/** Whether there is an image, and whoever asks may see it. A private one and none at all are the same work. */
export async function isShown(checks: Checks, request: FastifyRequest, image: PublishedImage | undefined) {
  if (image && !image.isPrivate) return true
  const may = await maySee(checks, request, image ?? NONE)
  return may && image !== undefined
}

/** To its owner, to operators, and to who has a signed link to it. */
async function maySee({ links, viewerOf }: Checks, request: FastifyRequest, image: Seen): Promise<boolean> {
  if (await links.isValid(image, linkQueryOf(request))) return true
  const viewer = await viewerOf(request)
  return viewer !== undefined && (viewer.isOperator || viewer.accountId === image.ownerId)
}

/** What the request has of a signed link. */
export function linkQueryOf({ query }: FastifyRequest): { readonly expires?: string; readonly signature?: string } {
  const { expires, signature } = query as Readonly<Record<string, unknown>>
  return {
    ...(typeof expires === 'string' && { expires }),
    ...(typeof signature === 'string' && { signature }),
  }
}

/** More than looking for an image takes while the store and Postgres work. */
const NOTHING_EVERY_MS = 250

/**
 * Waits until it may be told that there is no such image. If that were told at once, its time would tell a private one from none.
 * Meanwhile another request has the slot: who asks for what is not there must not keep others out.
 */
export function untilNothingIsTold(
  request: Pick<FastifyRequest, 'releaseSlot'>,
  { elapsedTime }: Pick<FastifyReply, 'elapsedTime'>,
): Promise<void> {
  request.releaseSlot?.()
  return delay(waitOf(elapsedTime))
}

/** In milliseconds, for a request that has taken so long. */
export const waitOf = (elapsedTime: number): number => NOTHING_EVERY_MS - (elapsedTime % NOTHING_EVERY_MS)
