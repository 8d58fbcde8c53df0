import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type ImageRemovals, removeImage } from '../../../core/images/takedown.js'
import { REMOVED_IMAGE } from '../../../core/operator/removed-images.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { sendPage } from '../../parts/layout.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { byOf, readForm, reason } from '../parts/operator-forms.js'
import { ImagesPage } from './images-page.js'

const IMAGES_PER_PAGE = 50

const query = z.object({
  unfinished: z
    .string()
    .catch('')
    .transform((text) => text === 'yes'),
  after: z
    .string()
    .regex(/^\d{1,16}:[0-9A-Za-z]{22}$/)
    .optional()
    .catch(undefined),
  done: z.literal('removed').optional().catch(undefined),
})
type Chosen = z.infer<typeof query>

const fields = z.object({ image: z.string().catch(''), reason })

/** The slug in an image's address, of its page or of its file. */
const slugOf = (text: string) => /(?:^|\/)([0-9A-Za-z]{22})(?:\.[a-z]+)?\/?(?:[?#].*)?$/.exec(text.trim())?.[1] ?? ''

const NO_SUCH = 'There is no such image: give its address, or the last part of it.'

/** Removed images. */
export function imagesRoutes(app: App, { ports }: WebsiteOptions): void {
  const { images, removedImages, recorded } = ports

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    { unfinished, after, done }: Partial<Chosen> = {},
    said: { readonly problem?: string; readonly image?: string } = {},
  ): Promise<unknown> {
    const filter = { unfinished: unfinished === true }
    const [list, unfinishedCount] = await Promise.all([
      removedImages.list(filter, { limit: IMAGES_PER_PAGE, after }),
      removedImages.countUnfinished(),
    ])
    const page = { signedIn: sessionOf(request), ...filter, unfinishedCount, isFirst: after === undefined, ...list }
    return sendPage(reply, <ImagesPage {...page} {...said} done={done && 'The image is removed.'} />)
  }

  app.get('/operator/images', { schema: { querystring: query } }, async (request, reply) =>
    show(request, reply, request.query),
  )

  app.post('/operator/images', async (request, reply) => {
    const { form, problem } = readForm(fields, request.body)
    const { image } = fields.pick({ image: true }).parse(request.body ?? {})
    const refuse = (status: number, sentence: string) =>
      show(request, reply.code(status), {}, { problem: sentence, image })
    if (!form) return refuse(400, problem ?? NO_SUCH)
    const slug = slugOf(image)
    // What can't be removed now is tried again: the row says that it must go.
    const files = { remove: (name: string) => images.remove(name).catch(() => undefined) }
    const act = { ...byOf(request, form.reason), action: REMOVED_IMAGE, target: slug }
    const removals: ImageRemovals = {
      remove: (...asked) =>
        recorded(
          (stores) => stores.removals.remove(...asked),
          (it) => it && act,
        ),
    }
    const removed = await removeImage({ removals, images: files }, slug, { reason: form.reason })
    if (!removed) return refuse(404, NO_SUCH)
    return reply.redirect('/operator/images?done=removed', 303)
  })
}
