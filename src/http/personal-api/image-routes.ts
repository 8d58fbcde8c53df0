import { imageNotFound, serviceUnavailable } from '../../errors.js'
import { SLUG } from '../../generation/generation.js'
import type { OwnImage } from '../../generation/library/history.js'
import { infotextOf } from '../../generation/library/infotext.js'
import { removeImage } from '../../generation/library/takedown.js'
import type { App } from '../fastify-app.js'
import { cursorOf } from '../fields.js'
import type { PersonalApiPorts } from '../ports.js'
import * as schemas from './image-schemas.js'

/** The images of an account: listed, looked up, and fetched with their parameters. */
export function imageRoutes(app: App, { history, images, files }: PersonalApiPorts): void {
  const urls: schemas.ImageUrls = { file: images.url, page: app.pageUrl }
  const requireOwn = async (accountId: string, id: string): Promise<OwnImage> => {
    const found = SLUG.test(id) ? await history.image(accountId, id) : undefined
    if (!found) throw imageNotFound()
    return found
  }

  app.get('/images', { schema: schemas.listImages }, async ({ caller, query }, reply) => {
    const { limit, cursor: after, model_version_id: modelVersionId } = query
    const { items, next } = await history.images(caller.account.id, { modelVersionId }, { limit, after })
    reply.header('cache-control', 'no-store')
    return { images: items.map((it) => schemas.imageView(it, urls)), next_cursor: cursorOf(next) }
  })

  app.get('/images/:id', { schema: schemas.getImage }, async ({ caller, params }, reply) => {
    const image = await requireOwn(caller.account.id, params.id)
    reply.header('cache-control', 'no-store')
    return schemas.imageDetailView(image, urls)
  })

  app.get('/images/:id/file', { schema: schemas.getImageFile }, async ({ caller, params }, reply) => {
    const image = await requireOwn(caller.account.id, params.id)
    const png = await files.read(image.slug)
    if (!png) throw imageNotFound()
    return reply
      .header('content-disposition', `attachment; filename="${image.slug}.png"`)
      .header('cache-control', 'private')
      .header('x-content-type-options', 'nosniff')
      .type('image/png')
      .send(files.withInfotext(png, infotextOf(image)))
  })
}

/** Takes an image down for its owner. The scope drops bodies. */
export function imageRemovalRoutes(app: App, { removals, images }: PersonalApiPorts): void {
  /** If the image store is away, the client gets a 503: its next try removes the file. */
  const remove = (slug: string) =>
    images.remove(slug).catch((cause) => {
      throw serviceUnavailable(5, cause)
    })

  app.delete('/images/:id', { schema: schemas.removeImage }, async ({ caller, params }, reply) => {
    const options = { reason: 'Removed by its owner.', accountId: caller.account.id }
    const removed = await removeImage({ removals, images: { remove } }, params.id, options)
    if (!removed) throw imageNotFound()
    return reply.code(204).send(null)
  })
}
