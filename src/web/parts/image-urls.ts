import type { ImageStore } from '../../core/images/ports.js'
import { address } from './text.js'

type ImageUrls = Pick<ImageStore, 'url' | 'thumbnailUrl'>

/** Of this server, which looks who asks; a CDN does not. Operators see every image there. */
export const SERVER_URLS: ImageUrls = {
  url: (slug) => `/cdn/${slug}.png`,
  thumbnailUrl: (slug) => `/cdn/${slug}.webp`,
}

/** The addresses of an image's files, for a page of somebody who may see it. */
export const urlsFor = (images: ImageUrls, { isPrivate }: { readonly isPrivate: boolean }): ImageUrls =>
  isPrivate ? SERVER_URLS : images

/** Where a browser stores the file: of this server, since it would show one of another host. @param link of a signed link */
export const downloadUrl = (slug: string, link: Readonly<Record<string, string | undefined>> = {}): string =>
  address(SERVER_URLS.url(slug), { ...link, download: 1 })
