import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type NewCover, setCover } from '../../../core/operator/catalog.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { sendPage } from '../../parts/layout.js'
import { actingOf, mistake, readForm, reason } from '../../parts/operator-forms.js'
import { refusalMessage } from '../../shared/answers.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { MAX_COVER_MB } from './cover-forms.js'
import { findModel, ModelPage, params } from './model-page.js'

const MAX_BYTES = MAX_COVER_MB * 1024 * 1024
/** The other field, and what separates them. */
const FORM_BYTES = 16 * 1024

const text = z.string().catch('')
const imageForm = z.object({ image: text, reason: text })
const removalForm = z.object({ reason: text })
const reasonForm = z.object({ reason })

/** Of a page, a file, or an image's name alone. */
const SLUG_IN = /(?:^|\/)([0-9A-Za-z]{22})(?:\.(?:png|webp))?\/?(?:[?#].*)?$/

/** What a version's picture is. */
export function coverFormRoutes(app: App, { ports }: WebsiteOptions): void {
  /** @param read the picture; what it throws is said on the page */
  const change = async (
    request: FastifyRequest,
    reply: FastifyReply,
    id: number,
    asked: { readonly why: unknown; readonly image?: string },
    read: () => Promise<NewCover>,
  ) => {
    const model = await findModel(ports, id)
    try {
      const { form, problem } = readForm(reasonForm, { reason: asked.why })
      if (!form) throw mistake(problem)
      await setCover(actingOf(ports, request, form.reason), id, await read())
    } catch (error) {
      const problem = refusalMessage(error, reply)
      return sendPage(reply, <ModelPage {...{ model, problem }} image={asked.image} signedIn={sessionOf(request)} />)
    }
    return reply.redirect(`/operator/models/${id}#cover`, 303)
  }

  app.post('/operator/models/:id/cover', { schema: { params, body: imageForm } }, (request, reply) => {
    const { image, reason: why } = request.body
    return change(request, reply, request.params.id, { why, image }, async () => {
      const slug = SLUG_IN.exec(image.trim())?.[1]
      const found = slug && (await ports.publishedImages.find(slug))
      if (!found || found.removed || found.isPrivate)
        throw mistake('No public image has this address: copy the one of its page, or of its file.')
      return { slug: found.slug }
    })
  })

  app.post('/operator/models/:id/cover-remove', { schema: { params, body: removalForm } }, (request, reply) =>
    change(request, reply, request.params.id, { why: request.body.reason }, async () => undefined),
  )

  void app.register(async (uploads: App) => {
    uploads.addContentTypeParser('multipart/form-data', { parseAs: 'buffer' }, (_request, body, done) =>
      done(null, body),
    )
    const options = { schema: { params }, bodyLimit: MAX_BYTES + FORM_BYTES }
    uploads.post('/operator/models/:id/cover-file', options, async (request, reply) => {
      const form = await filesOf(request)
      const file = form?.get('file')
      return change(request, reply, request.params.id, { why: form?.get('reason') }, async () => {
        if (!(file instanceof File) || file.size === 0) throw mistake('Choose a file first: a PNG, JPEG or WebP.')
        if (file.size > MAX_BYTES) throw mistake(`The file is larger than ${MAX_COVER_MB} MB: make it smaller first.`)
        const webp = await ports.encodeCover(Buffer.from(await file.arrayBuffer())).catch(() => {
          throw mistake('The file can’t be read as a PNG, JPEG or WebP: choose another one.')
        })
        return { name: `${createHash('sha256').update(webp).digest('hex').slice(0, 32)}.webp`, webp }
      })
    })
  })
}

/** Undefined: it is no form that can be read. */
const filesOf = ({ body, headers }: FastifyRequest): Promise<FormData | undefined> =>
  new Response(body instanceof Buffer ? new Uint8Array(body) : '', {
    headers: { 'content-type': headers['content-type'] ?? '' },
  })
    .formData()
    .catch(() => undefined)
