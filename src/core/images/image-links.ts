/** Links with which whoever has them sees one private image for a while. */
import { createHmac } from 'node:crypto'
import { isSameText } from '../../lib/same-text.js'
import { type PublishedImage, SLUG } from './ports.js'

/** What a link has behind its address. */
export interface LinkQuery {
  /** In seconds since 1970. */
  readonly expires: string
  /** Base64url. */
  readonly signature: string
}

/** How long a link may last, in seconds. */
export const LINK_SECONDS = {
  hour: 3600,
  day: 86_400,
  week: 7 * 86_400,
  month: 30 * 86_400,
} as const

type LinkedImage = Pick<PublishedImage, 'slug' | 'linkRevocations'>

export interface ImageLinks {
  sign(image: LinkedImage, expiresAt: Date): Promise<LinkQuery>
  /** Whether these came with a link to this image that has not ended, and that its owner has not taken back. */
  isValid(image: LinkedImage, query: Partial<LinkQuery>): Promise<boolean>
}

/** @param secret the same in every server */
export function imageLinks(secret: () => Promise<Buffer>): ImageLinks {
  const signatureOf = async ({ slug, linkRevocations }: LinkedImage, expires: string) =>
    createHmac('sha256', await secret())
      // Without the number where it is 0, as the release before signs.
      .update(`image link ${slug} ${expires}${linkRevocations > 0 ? ` ${linkRevocations}` : ''}`)
      .digest('base64url')
  return {
    async sign(image, expiresAt) {
      const expires = `${Math.floor(expiresAt.getTime() / 1000)}`
      return { expires, signature: await signatureOf(image, expires) }
    },

    async isValid(image, { expires = '', signature = '' }) {
      if (!SLUG.test(image.slug) || !/^[1-9]\d{0,11}$/.test(expires) || Number(expires) * 1000 <= Date.now())
        return false
      return isSameText(signature, await signatureOf(image, expires))
    },
  }
}

/** The name of the folder in which private files are kept: nobody can guess it. */
export const privateFolderOf = (secret: Buffer): string =>
  createHmac('sha256', secret).update('folder of private images').digest('hex').slice(0, 32)
