import type { FastifyInstance } from 'fastify'
import { SLUG } from '../generation/generation.js'
import type { PictureStore } from '../generation/library/picture.js'
import { homePage } from './home-page.js'
import { imagePage, noticePage } from './image-page.js'

export interface PageOptions {
  readonly pictures: PictureStore
  readonly imageUrl: (slug: string) => string
  /** The website's origin; the page's own address is <baseUrl>/image/<slug>. */
  readonly baseUrl: string
}

/** The website's pages: the front page, and the page of a picture for anyone who has its unguessable link. */
export async function pages(app: FastifyInstance, { pictures, imageUrl, baseUrl }: PageOptions): Promise<void> {
  // Style is inline and nothing else is loaded but the picture.
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
    const picture = SLUG.test(slug) ? await pictures.find(slug) : undefined
    reply.headers(headers)
    if (!picture) {
      return reply.code(404).send(noticePage('No such picture', 'There is no picture at this address. Check the link.'))
    }
    if (picture.removed) {
      return reply.code(410).send(noticePage('Picture removed', 'This picture was removed and is no longer available.'))
    }
    return imagePage(picture, imageUrl(slug), `${baseUrl}/image/${slug}`)
  })
}
