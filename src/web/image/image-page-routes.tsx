import type { FastifyReply, FastifyRequest } from 'fastify'
import { SLUG } from '../../generation/generation.js'
import type { App } from '../../http/fastify-app.js'
import { NoticePage } from '../error-page.js'
import { sendPage } from '../layout.js'
import type { WebsiteOptions } from '../ports.js'
import { ImagePage } from './image-page.js'

/** The page of an image, for anyone who has its unguessable link. */
export function imagePageRoutes(app: App, { ports, baseUrl }: WebsiteOptions): void {
  app.get<{ Params: { slug: string } }>('/image/:slug', async (request, reply) => {
    const { slug } = request.params
    const image = SLUG.test(slug) ? await ports.publishedImages.find(slug) : undefined
    if (!image)
      return notice(request, reply, 404, 'No such image', 'There is no image at this address. Check the link.')
    if (image.removed)
      return notice(request, reply, 410, 'Image removed', 'This image was removed and is no longer available.')
    const urls = { imageUrl: ports.images.url(slug), pageUrl: `${baseUrl}/image/${slug}` }
    return sendPage(reply, <ImagePage image={image} {...urls} signedIn={request.signedIn} />)
  })
}

const notice = (request: FastifyRequest, reply: FastifyReply, status: number, heading: string, sentence: string) =>
  sendPage(
    reply.code(status),
    <NoticePage heading={heading} request={request}>
      {sentence}
    </NoticePage>,
  )
