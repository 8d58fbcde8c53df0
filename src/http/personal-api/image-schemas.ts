import { z } from 'zod'
import type { OwnImage } from '../../generation/library/history.js'
import { SAMPLERS } from '../../generation/sampler.js'
import { personalRefusals } from '../error-bodies.js'
import { nextCursor, pageFields } from '../query-fields.js'
import { EXAMPLE_GENERATION_ID, modelVersionFilter } from './generation-schemas.js'

const EXAMPLE = {
  id: 'Zk3vQ9xT1bN7mR4wY8cL2s',
  url: 'https://cdn.easel.example/Zk3vQ9xT1bN7mR4wY8cL2s.png',
  page_url: 'https://easel.example/image/Zk3vQ9xT1bN7mR4wY8cL2s',
  width: 832,
  height: 1216,
  seed: 1803774619,
  bytes: 1482113,
  sha256: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  model_version_id: 10,
  model_name: 'Pony Diffusion',
  generation_id: EXAMPLE_GENERATION_ID,
  created_at: '2026-11-20T21:04:17.062Z',
}

const MADE_FROM = {
  prompt: 'a lighthouse at dusk',
  negative_prompt: '',
  steps: 30,
  cfg_scale: 7,
  sampler: 'dpmpp_2m_karras',
  filename: 'ponyDiffusionV6XL.safetensors',
  made_with: { backend: 'a1111', version: 'v1.10.1', sampler: 'DPM++ 2M', scheduler: 'Karras' },
}

/** Any string: a malformed ID is answered like one that does not exist. */
const params = z.object({ id: z.string().describe('The ID of the image') })

const image = z
  .object({
    id: z.string(),
    url: z.string().describe('Permanent and public'),
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
  .meta({ id: 'Image', examples: [EXAMPLE] })

const imageDetail = image
  .extend({
    prompt: z.string(),
    negative_prompt: z.string(),
    steps: z.int(),
    cfg_scale: z.number(),
    sampler: z.enum(SAMPLERS),
    filename: z.string().describe("The model's file"),
    made_with: z
      .object({
        backend: z.string().describe('The kind of server'),
        version: z.string().nullable(),
        sampler: z.string(),
        scheduler: z.string().nullable(),
      })
      .nullable()
      .describe('How the server that drew it was asked, in its own words; null where that was not kept'),
  })
  .meta({ id: 'ImageDetail', examples: [{ ...EXAMPLE, ...MADE_FROM }] })

/** The addresses of an image. */
export interface ImageUrls {
  readonly file: (slug: string) => string
  readonly page: (slug: string) => string
}

export const imageView = (it: OwnImage, urls: ImageUrls): z.output<typeof image> => ({
  id: it.slug,
  url: urls.file(it.slug),
  page_url: urls.page(it.slug),
  width: it.width,
  height: it.height,
  seed: it.seed,
  bytes: it.bytes,
  sha256: it.sha256,
  model_version_id: it.modelVersionId,
  model_name: it.modelName,
  generation_id: it.generationId,
  created_at: it.createdAt.toISOString(),
})

export const imageDetailView = (it: OwnImage, urls: ImageUrls): z.output<typeof imageDetail> => ({
  ...imageView(it, urls),
  prompt: it.prompt,
  negative_prompt: it.negativePrompt,
  steps: it.steps,
  cfg_scale: it.cfgScale,
  sampler: it.sampler,
  filename: it.filename,
  made_with: it.madeWith,
})

const tags = ['Images']

export const listImagesSchema = {
  operationId: 'listImages',
  tags,
  summary: 'Your images, newest first',
  description: 'In the order of their submits, those of a batch in its order.',
  querystring: z.strictObject({ model_version_id: modelVersionFilter, ...pageFields(3) }),
  response: {
    200: z.object({ images: z.array(image), next_cursor: nextCursor }).meta({ id: 'ImageList' }),
    ...personalRefusals(400),
  },
}

export const getImageSchema = {
  operationId: 'getImage',
  tags,
  summary: 'One of your images, with all that it was made from',
  description: 'Enough to have it made again, here or elsewhere.',
  params,
  response: { 200: imageDetail, ...personalRefusals(404) },
}

export const getImageFileSchema = {
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

export const removeImageSchema = {
  operationId: 'removeImage',
  tags,
  summary: 'Take one of your images down',
  description: 'Its file is removed, its public URL says 404 and its page 410. May be repeated.',
  params,
  response: { 204: z.null().describe('It is removed'), ...personalRefusals(404) },
}
