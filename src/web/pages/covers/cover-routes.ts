import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import { COVER_FILE, DRAWN_COVER } from '../../../core/catalog/cover.js'
import { SLUG } from '../../../core/images/ports.js'
import type { App } from '../../../http/shared/fastify-app.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { noSuchPage } from '../../shared/session-cookie.js'
import { drawnCover } from './drawn-cover.js'

const params = z.object({ id: z.string().regex(/^[1-9]\d{0,14}$/), file: z.string() })

/** The path says which picture it is. */
const FOR_EVER = 'public, max-age=31536000, immutable'
/** A published image may be taken down. */
const FOR_MINUTES = 'public, max-age=300'

/** The pictures of model versions, for everybody: those of `coverPath`. */
export function coverRoutes(app: App, { ports }: WebsiteOptions): void {
  const { covers, publishedImages, images } = ports
  const sendDrawn = (reply: FastifyReply, id: string, caching: string) =>
    reply
      .header('cache-control', caching)
      .type('image/svg+xml')
      .send(drawnCover(Number(id)))

  app.get('/covers/:id/:file', { schema: { params } }, async (request, reply) => {
    const { id, file } = request.params
    reply.header('x-content-type-options', 'nosniff')
    if (file === DRAWN_COVER) return sendDrawn(reply, id, FOR_EVER)
    if (COVER_FILE.test(file)) {
      const webp = await covers.read(file)
      if (!webp) return sendDrawn(reply, id, FOR_MINUTES)
      return reply.header('cache-control', FOR_EVER).type('image/webp').send(webp)
    }
    if (!SLUG.test(file)) throw noSuchPage()
    const image = await publishedImages.find(file)
    if (!image || image.removed || image.isPrivate) return sendDrawn(reply, id, FOR_MINUTES)
    const { slug, hasThumbnail } = image
    reply.header('cache-control', FOR_MINUTES)
    return reply.redirect(hasThumbnail ? images.thumbnailUrl(slug) : images.url(slug), 302)
  })
}
