import type { FastifyRequest } from 'fastify'
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

/** Whether a private image may be shown: to its owner, to operators, and to who has a signed link to it. */
export async function maySee(
  { links, viewerOf }: Pick<PrivateImages, 'links' | 'viewerOf'>,
  request: FastifyRequest,
  image: Pick<PublishedImage, 'slug' | 'ownerId' | 'linkRevocations'>,
): Promise<boolean> {
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
