import { imageNotFound } from '../../../core/errors.js'
import type { OwnImage } from '../../../core/generations/history.js'
import { infotextOf } from '../../../core/generations/infotext.js'
import { SLUG } from '../../../core/images/ports.js'
import { removeOwnImage } from '../../../core/images/takedown.js'
import type { App } from '../../shared/fastify-app.js'
import * as field from '../../shared/fields.js'
import type { PersonalApiPorts } from '../../shared/ports.js'
import { viewOf } from '../../shared/responses.js'
import {
  getImageFileSchema,
  getImageSchema,
  image,
  imageDetail,
  listImagesSchema,
  removeImageSchema,
} from './image-schemas.js'

/** The images of an account: listed, looked up, and fetched with their parameters. */
export function imageRoutes(app: App, { history, images, files }: PersonalApiPorts): void {
  const withUrls = (it: OwnImage) => ({ ...it, id: it.slug, url: images.url(it.slug), pageUrl: app.pageUrl(it.slug) })
  const requireOwn = async (accountId: string, id: string): Promise<OwnImage> => {
    const found = SLUG.test(id) ? await history.image(accountId, id) : undefined
    if (!found) throw imageNotFound()
    return found
  }

  app.get('/images', { schema: listImagesSchema }, async ({ caller, query }, reply) => {
    const { limit, cursor: after, model_version_id: modelVersionId } = query
    const { items, next } = await history.images(caller.account.id, { modelVersionId }, { limit, after })
    reply.header('cache-control', 'no-store')
    return { images: items.map((it) => viewOf(image, withUrls(it))), next_cursor: field.cursorOf(next) }
  })

  app.get('/images/:id', { schema: getImageSchema }, async ({ caller, params }, reply) => {
    const own = await requireOwn(caller.account.id, params.id)
    return reply.header('cache-control', 'no-store').send(viewOf(imageDetail, withUrls(own)))
  })

  app.get('/images/:id/file', { schema: getImageFileSchema }, async ({ caller, params }, reply) => {
    const own = await requireOwn(caller.account.id, params.id)
    const png = await files.read(own.slug)
    if (!png) throw imageNotFound()
    return reply
      .header('content-disposition', `attachment; filename="${own.slug}.png"`)
      .header('cache-control', 'private')
      .header('x-content-type-options', 'nosniff')
      .type('image/png')
      .send(files.withInfotext(png, infotextOf(own)))
  })
}

/** Takes an image down for its owner. The scope drops bodies. */
export function imageRemovalRoutes(app: App, ports: PersonalApiPorts): void {
  app.delete('/images/:id', { schema: removeImageSchema }, async ({ caller, params }, reply) => {
    await removeOwnImage(ports, caller.account.id, params.id)
    return reply.code(204).send(null)
  })
}
