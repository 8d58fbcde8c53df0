import type { FastifyReply, FastifyRequest } from 'fastify'
import { SLUG } from '../../../core/images/ports.js'
import { removeOwnImage } from '../../../core/images/takedown.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { NoticePage } from '../../parts/error-page.js'
import { sendPage } from '../../parts/layout.js'
import { isFragment } from '../../shared/fragment.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { ImagePage } from './image-page.js'

/** The page of an image, for anyone who has its unguessable link; its owner sees how it was made. */
export function imagePageRoutes(app: App, { ports, baseUrl }: WebsiteOptions): void {
  app.get<{ Params: { slug: string } }>('/image/:slug', async (request, reply) => {
    const { slug } = request.params
    const image = SLUG.test(slug) ? await ports.publishedImages.find(slug) : undefined
    if (!image)
      return notice(request, reply, 404, 'No such image', 'There is no image at this address. Check the link.')
    if (image.removed)
      return notice(request, reply, 410, 'Image removed', 'This image was removed and is no longer available.')
    const { signedIn } = request
    const [own, neighbours] = signedIn ? await ownView(signedIn.caller.account.id, slug) : []
    const urls = { imageUrl: ports.images.url(slug), pageUrl: `${baseUrl}/image/${slug}`, baseUrl }
    return sendPage(reply, <ImagePage image={image} own={own} neighbours={neighbours} {...urls} signedIn={signedIn} />)
  })

  const ownView = (accountId: string, slug: string) =>
    Promise.all([ports.history.image(accountId, slug), ports.history.neighbours(accountId, slug)])
}

/** What an image's owner does with it. */
export function ownImageRoutes(app: App, { ports }: WebsiteOptions): void {
  app.post<{ Params: { slug: string } }>('/image/:slug/delete', async (request, reply) => {
    await removeOwnImage(ports, sessionOf(request).caller.account.id, request.params.slug)
    // In the gallery nothing takes the picture's place.
    if (isFragment(request)) return reply.type('text/html; charset=utf-8').send('')
    return reply.redirect('/gallery', 303)
  })
}

const notice = (request: FastifyRequest, reply: FastifyReply, status: number, heading: string, sentence: string) =>
  sendPage(
    reply.code(status),
    <NoticePage heading={heading} request={request}>
      {sentence}
    </NoticePage>,
  )
