import { imageNotFound, serviceUnavailable } from '../../errors.js'
import { SLUG } from '../../generation/generation.js'
import type { HistoryStore, OwnImage } from '../../generation/library/history.js'
import { infotextOf } from '../../generation/library/infotext.js'
import { type ImageRemovals, removeImage } from '../../generation/library/takedown.js'
import type { ImageFiles, ImageStore } from '../../generation/ports.js'
import type { App } from '../fastify-app.js'
import { cursorOf } from '../query-fields.js'
import {
  getImageFileSchema,
  getImageSchema,
  type ImageUrls,
  imageDetailView,
  imageView,
  listImagesSchema,
  removeImageSchema,
} from './image-schemas.js'

export interface ImageRoutePorts {
  readonly history: HistoryStore
  readonly images: Pick<ImageStore, 'url'>
  readonly files: ImageFiles
}

/** The images of an account: listed, looked up, and fetched with their parameters. */
export function imageRoutes(app: App, { history, images, files }: ImageRoutePorts): void {
  const urls: ImageUrls = { file: images.url, page: app.pageUrl }
  const requireOwn = async (accountId: string, id: string): Promise<OwnImage> => {
    const found = SLUG.test(id) ? await history.image(accountId, id) : undefined
    if (!found) throw imageNotFound()
    return found
  }

  app.get('/images', { schema: listImagesSchema }, async ({ caller, query }, reply) => {
    const filter = { modelVersionId: query.model_version_id }
    const page = { limit: query.limit, after: query.cursor }
    const { items, next } = await history.images(caller.account.id, filter, page)
    reply.header('cache-control', 'no-store')
    return { images: items.map((it) => imageView(it, urls)), next_cursor: cursorOf(next) }
  })

  app.get('/images/:id', { schema: getImageSchema }, async ({ caller, params }, reply) => {
    const image = await requireOwn(caller.account.id, params.id)
    reply.header('cache-control', 'no-store')
    return imageDetailView(image, urls)
  })

  app.get('/images/:id/file', { schema: getImageFileSchema }, async ({ caller, params }, reply) => {
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

export interface ImageRemovalPorts {
  readonly removals: ImageRemovals
  readonly images: Pick<ImageStore, 'remove'>
}

const REMOVED_BY_OWNER = 'Removed by its owner.'

/** Takes an image down for its owner. The scope drops bodies. */
export function imageRemovalRoutes(app: App, { removals, images }: ImageRemovalPorts): void {
  /** If the store is away the client is asked to repeat, which then removes the file, too. */
  const remove = (slug: string) =>
    images.remove(slug).catch((cause) => {
      throw serviceUnavailable(5, cause)
    })

  app.delete('/images/:id', { schema: removeImageSchema }, async ({ caller, params }, reply) => {
    const options = { reason: REMOVED_BY_OWNER, accountId: caller.account.id }
    const removed = await removeImage({ removals, images: { remove } }, params.id, options)
    if (!removed) throw imageNotFound()
    return reply.code(204).send(null)
  })
}
