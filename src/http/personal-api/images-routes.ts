import { z } from 'zod'
import { pictureNotFound, serviceUnavailable } from '../../errors.js'
import { SLUG } from '../../generation/generation.js'
import type { ImageStore, PictureFiles } from '../../generation/image-store.js'
import type { HistoryStore, OwnPicture } from '../../generation/library/history.js'
import { infotextOf } from '../../generation/library/infotext.js'
import { type PictureRemovals, removePicture } from '../../generation/library/remove-picture.js'
import type { App } from '../fastify-app.js'
import { cursorOf, pageFields } from '../paging.js'
import { refusals } from './envelope.js'
import { ofModelVersion } from './generations-routes.js'
import { type ImageUrls, imageDetail, imageDetailView, imageList, imageParams, imageView } from './image-views.js'

declare module 'fastify' {
  interface FastifyInstance {
    /** The website's page of a picture. */
    pageUrl(slug: string): string
  }
}

export interface ImagesPorts {
  readonly history: HistoryStore
  readonly removals: PictureRemovals
  readonly images: ImageStore
  readonly files: PictureFiles
}

const REMOVED_BY_OWNER = 'Removed by its owner.'

const pngFile = {
  description: 'The PNG with its parameters in a `parameters` text chunk',
  content: { 'image/png': { schema: z.unknown().meta({ type: 'string', format: 'binary' }) } },
}

/** The pictures of an account: looked up, fetched with their parameters, and taken down. */
export function imagesRoutes(app: App, { history, images, files }: Omit<ImagesPorts, 'removals'>): void {
  const urls: ImageUrls = { file: (slug) => images.url(slug), page: (slug) => app.pageUrl(slug) }
  const requireOwn = async (accountId: string, id: string): Promise<OwnPicture> => {
    const found = SLUG.test(id) ? await history.picture(accountId, id) : undefined
    if (!found) throw pictureNotFound()
    return found
  }

  app.get(
    '/images',
    {
      schema: {
        operationId: 'listImages',
        tags: ['Images'],
        summary: 'Your pictures, newest first',
        description: 'In the order of their submits, those of a batch in its order.',
        querystring: z.strictObject({ model_version_id: ofModelVersion, ...pageFields(3) }),
        response: { 200: imageList, ...refusals(400) },
      },
    },
    async ({ caller, query }, reply) => {
      const filter = { modelVersionId: query.model_version_id }
      const { items, next } = await history.pictures(caller.account.id, filter, {
        limit: query.limit,
        after: query.cursor,
      })
      reply.header('cache-control', 'no-store')
      return { images: items.map((it) => imageView(it, urls)), next_cursor: cursorOf(next) }
    },
  )

  app.get(
    '/images/:id',
    {
      schema: {
        operationId: 'getImage',
        tags: ['Images'],
        summary: 'One of your pictures, with all that it was made from',
        description: 'Enough to have it made again, here or elsewhere.',
        params: imageParams,
        response: { 200: imageDetail, ...refusals(404) },
      },
    },
    async ({ caller, params }, reply) => {
      const it = await requireOwn(caller.account.id, params.id)
      reply.header('cache-control', 'no-store')
      return imageDetailView(it, urls)
    },
  )

  app.get(
    '/images/:id/file',
    {
      schema: {
        operationId: 'getImageFile',
        tags: ['Images'],
        summary: 'The file of one of your pictures, with its parameters in it',
        description: 'As AUTOMATIC1111 writes them, for tools that read them. The public file has no prompt.',
        params: imageParams,
        response: { 200: pngFile, ...refusals(404) },
      },
    },
    async ({ caller, params }, reply) => {
      const it = await requireOwn(caller.account.id, params.id)
      const png = await files.read(it.slug)
      if (!png) throw pictureNotFound()
      return reply
        .header('content-disposition', `attachment; filename="${it.slug}.png"`)
        .header('cache-control', 'private')
        .header('x-content-type-options', 'nosniff')
        .type('image/png')
        .send(files.withInfotext(png, infotextOf(it)))
    },
  )
}

/** Takes a picture down for its owner. */
export function imageRemovalRoutes(app: App, { removals, images }: Pick<ImagesPorts, 'removals' | 'images'>): void {
  app.delete(
    '/images/:id',
    {
      schema: {
        operationId: 'removeImage',
        tags: ['Images'],
        summary: 'Take one of your pictures down',
        description: 'Its file is removed, its public URL says 404 and its page 410. May be repeated.',
        params: imageParams,
        response: { 204: z.null().describe('It is removed'), ...refusals(404) },
      },
    },
    async ({ caller, params }, reply) => {
      const whose = { reason: REMOVED_BY_OWNER, accountId: caller.account.id }
      const removed = await removePicture({ removals, images: { remove } }, params.id, whose)
      if (!removed) throw pictureNotFound()
      return reply.code(204).send(null)
    },
  )

  /** A store that is away is nobody's fault: the repeat that this asks for takes the file, too. */
  async function remove(slug: string): Promise<void> {
    await images.remove(slug).catch((cause) => {
      throw serviceUnavailable(5, cause)
    })
  }
}
