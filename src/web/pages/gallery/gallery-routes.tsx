import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { App } from '../../../http/shared/fastify-app.js'
import { cursorOf, page } from '../../../http/shared/fields.js'
import { sendFragment, sendPage } from '../../parts/layout.js'
import { address } from '../../parts/text.js'
import { isFragment } from '../../shared/fragment.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { Found, type GalleryFilter, GalleryPage, Pictures } from './gallery-page.js'

const PAGE_SIZE = 40
const MAX_SEARCH = 200

/** What makes no sense is left out: an address that was edited or cut short still shows a gallery. */
const query = z.object({
  q: z
    .string()
    .catch('')
    .transform((text) => text.replaceAll('\0', '').trim().slice(0, MAX_SEARCH).toWellFormed()),
  model: z.coerce.number().int().optional().catch(undefined),
  made: z.enum(['website', 'api']).optional().catch(undefined),
  cursor: page(3).cursor.catch(undefined),
})

/** What an account has made: all of it, or what is searched for. */
export function galleryRoutes(app: App, { ports }: WebsiteOptions): void {
  app.get('/gallery', { schema: { querystring: query } }, async (request, reply) => {
    const signedIn = sessionOf(request)
    const { q, made, cursor: after } = request.query
    const models = await ports.models.listEnabled()
    const model = models.find(({ id }) => id === request.query.model)?.id
    const { items, next } = await ports.history.images(
      signedIn.caller.account.id,
      { prompt: q || undefined, modelVersionId: model, madeOn: made },
      { limit: PAGE_SIZE, after },
    )
    const filter: GalleryFilter = { q, model, made }
    const cursor = cursorOf(next)
    const found = {
      filter,
      pictures: items.map((image) => ({
        image,
        file: ports.images.url(image.slug),
        preview: image.hasThumbnail ? ports.images.thumbnailUrl(image.slug) : ports.images.url(image.slug),
      })),
      isContinued: after !== undefined,
      next: cursor === null ? undefined : addressOf({ ...filter, cursor }),
    }
    if (!wantsPart(request)) return sendPage(reply, <GalleryPage signedIn={signedIn} models={models} found={found} />)
    if (after) return sendFragment(reply, <Pictures {...found} />)
    return sendFragment(reply.header('hx-replace-url', addressOf({ ...filter })), <Found {...found} />)
  })
}

/** Going back in the browser's history asks for the whole page, too. */
const wantsPart = (request: FastifyRequest) =>
  isFragment(request) && request.headers['hx-history-restore-request'] !== 'true'

const addressOf = (fields: Parameters<typeof address>[1]) => address('/gallery', fields)
