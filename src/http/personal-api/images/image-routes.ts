import { z } from 'zod'
import { imageFileMissing, imageNotFound } from '../../../core/errors.js'
import type { OwnImage } from '../../../core/gallery/gallery.js'
import { infotextOf } from '../../../core/gallery/infotext.js'
import { SLUG } from '../../../core/images/ports.js'
import { removeOwnImage } from '../../../core/images/takedown.js'
import { personalRefusals } from '../../shared/error-bodies.js'
import type { App } from '../../shared/fastify-app.js'
import * as field from '../../shared/fields.js'
import { DEFAULT_SIZE, EXAMPLE_SHOWN, shown } from '../../shared/generation-fields.js'
import type { PersonalApiPorts } from '../../shared/ports.js'
import { EXAMPLE, viewOf } from '../../shared/responses.js'
import { modelVersionFilter } from '../generations/generation-routes.js'

const tags = ['Images']
const params = field.idParams('The ID of the image')

const { batch_size: _, ...drawing } = shown
const { batch_size: _one, ...exampleDrawing } = EXAMPLE_SHOWN

const EXAMPLE_IMAGE = {
  id: EXAMPLE.slug,
  url: EXAMPLE.imageUrl,
  page_url: `https://easel.example/image/${EXAMPLE.slug}`,
  ...DEFAULT_SIZE,
  seed: EXAMPLE.seed,
  bytes: 1482113,
  sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  ...EXAMPLE.model,
  generation_id: EXAMPLE.generationId,
  created_at: EXAMPLE.finishedAt,
}

const EXAMPLE_ORIGIN = {
  ...exampleDrawing,
  sampler: 'dpmpp_2m_karras',
  filename: 'ponyDiffusionV6XL.safetensors',
  made_with: { backend: 'a1111', version: 'v1.10.1', sampler: 'DPM++ 2M', scheduler: 'Karras' },
}

const image = z
  .object({
    id: z.string(),
    url: z.string().describe('Permanent, and public unless its owner makes the image private'),
    page_url: z.string().describe('The website shows it there'),
    width: z.int(),
    height: z.int(),
    seed: z.int().describe('Its own: makes it again alone'),
    bytes: z.int(),
    sha256: z.string().describe('Of the public file, in hex'),
    model_version_id: z.int(),
    model_name: z.string(),
    generation_id: z.string(),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'Image', examples: [EXAMPLE_IMAGE] })

export const imageDetail = image
  .extend({
    ...drawing,
    filename: z.string().describe("The model's file"),
    made_with: z
      .object({
        backend: z.string().describe('The kind of server'),
        version: z.string().nullable(),
        sampler: z.string(),
        scheduler: z.string().nullable(),
        definition: z
          .object({ name: z.string().describe('With its revision'), hash: z.string().describe('SHA-256, in hex') })
          .optional()
          .describe("The model's workflow or options, where it is more than a checkpoint"),
      })
      .nullable()
      .describe('How the server that drew it was asked, in its own words; null where that was not kept'),
  })
  .meta({ id: 'ImageDetail', examples: [{ ...EXAMPLE_IMAGE, ...EXAMPLE_ORIGIN }] })

const listImagesSchema = {
  operationId: 'listImages',
  tags,
  summary: 'Your images, newest first',
  description: 'In the order of their submits, those of a batch in its order.',
  querystring: z.strictObject({ model_version_id: modelVersionFilter, ...field.page(3) }),
  response: {
    200: z.object({ images: z.array(image), next_cursor: field.nextCursor }).meta({ id: 'ImageList' }),
    ...personalRefusals(400),
  },
}

const getImageSchema = {
  operationId: 'getImage',
  tags,
  summary: 'One of your images, with all that it was made from',
  description: 'Enough to have it made again, here or elsewhere.',
  params,
  response: { 200: imageDetail, ...personalRefusals(404) },
}

const getImageFileSchema = {
  operationId: 'getImageFile',
  tags,
  summary: 'The file of one of your images, with its parameters in it',
  description: 'As AUTOMATIC1111 writes them, for tools that read them. The public file has no prompt.',
  params,
  response: {
    200: {
      description: 'The PNG with its parameters in a `parameters` text chunk',
      content: { 'image/png': { schema: z.unknown().meta({ type: 'string', format: 'binary' }) } },
    },
    ...personalRefusals(404),
  },
}

const removeImageSchema = {
  operationId: 'removeImage',
  tags,
  summary: 'Take one of your images down',
  description: 'Its file is removed, its public URL says 404 and its page 410. May be repeated.',
  params,
  response: { 204: z.null().describe('It is removed'), ...personalRefusals(404) },
}

/** The images of an account: listed, looked up, and fetched with their parameters. */
export function imageRoutes(app: App, { gallery, images, files }: PersonalApiPorts): void {
  const withUrls = (it: OwnImage) => ({ ...it, id: it.slug, url: images.url(it.slug), pageUrl: app.pageUrl(it.slug) })
  const requireOwn = async (accountId: string, id: string): Promise<OwnImage> => {
    const found = SLUG.test(id) ? await gallery.image(accountId, id) : undefined
    if (!found) throw imageNotFound()
    return found
  }

  app.get('/images', { schema: listImagesSchema }, async ({ caller, query }, reply) => {
    const { limit, cursor: after, model_version_id: modelVersionId } = query
    const { items, next } = await gallery.images(caller.account.id, { modelVersionId }, { limit, after })
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
    if (!png) throw imageFileMissing()
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
