import type { FastifyInstance } from 'fastify'
import { SLUG } from '../generation/generation.js'
import type { PublishedImages } from '../generation/library/history.js'
import { homePage } from './home-page.js'
import { imagePage, noticePage } from './image-page.js'

export interface PageOptions {
  readonly images: PublishedImages
  readonly imageUrl: (slug: string) => string
  /** The website's origin; the page's own address is <baseUrl>/image/<slug>. */
  readonly baseUrl: string
}

/** The website's pages: the front page, and the page of an image for anyone who has its unguessable link. */
export async function pages(app: FastifyInstance, { images, imageUrl, baseUrl }: PageOptions): Promise<void> {
  // The style is inline, and a page loads nothing but its image.
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': `default-src 'none'; img-src ${new URL(imageUrl('0'.repeat(22))).origin}; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'`,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'same-origin',
    'x-robots-tag': 'noindex',
    'cache-control': 'no-cache',
  }
  app.get('/', async (_request, reply) => reply.headers(headers).send(homePage(baseUrl)))

  app.get<{ Params: { slug: string } }>('/image/:slug', async (request, reply) => {
    const { slug } = request.params
    const image = SLUG.test(slug) ? await images.find(slug) : undefined
    reply.headers(headers)
    if (!image)
      return reply.code(404).send(noticePage('No such image', 'There is no image at this address. Check the link.'))
    if (image.removed)
      return reply.code(410).send(noticePage('Image removed', 'This image was removed and is no longer available.'))
    return imagePage(image, imageUrl(slug), `${baseUrl}/image/${slug}`)
  })
}
