import { z } from 'zod'
import { type ModelStore, type ModelVersion, readableNames } from '../../catalog/model-version.js'
import { type AppError, type ErrorCode, pictureRemoved } from '../../errors.js'
import { handleErrors, toAppError } from '../errors.js'
import type { App } from '../fastify-app.js'
import { idempotencyKeyHeader, idempotencyOf } from '../idempotency.js'
import { requireDrawable } from './drawable.js'
import { openAiErrorBody, refusals } from './openai-envelope.js'
import { openAiBody } from './openai-schemas.js'
import type { CreateImageApiOptions } from './plugin.js'
import type { CreatePictures } from './waiting.js'

const pictures = z
  .object({
    created: z.int().describe('Seconds since 1970'),
    data: z.array(
      z.object({
        url: z.string().optional().describe('Permanent and public'),
        b64_json: z.string().optional().describe('The PNG in base64'),
      }),
    ),
  })
  .meta({
    id: 'OpenAiImages',
    examples: [{ created: 1795208651, data: [{ url: 'https://cdn.easel.example/Zk3vQ9xT1bN7mR4wY8cL2s.png' }] }],
  })

const modelList = z
  .object({
    object: z.literal('list'),
    data: z.array(
      z.object({
        id: z.string(),
        object: z.literal('model'),
        created: z.int().describe('Always 0: it is not known'),
        owned_by: z.string().describe("The model's name"),
      }),
    ),
  })
  .meta({
    id: 'OpenAiModels',
    examples: [{ object: 'list', data: [{ id: 'noobai-xl', object: 'model', created: 0, owned_by: 'NoobAI-XL' }] }],
  })

const ENDED: readonly ErrorCode[] = ['generation_failed', 'timeout']

/** Of a server that leaves amid the wait, too: its refusal names the generation that goes on. */
const isSubmitted = ({ code, detail }: AppError): boolean =>
  ENDED.includes(code) || (code === 'unavailable' && detail.generationId !== undefined)

/** Create Image in OpenAI's shape, for its clients: the same keys, limits, queue and pictures. */
export function openAiRoutes(app: App, ports: CreateImageApiOptions['ports'], createPictures: CreatePictures): void {
  app.setErrorHandler((error, request, reply) => {
    // OpenAI's clients repeat every 5xx, and so would submit anew what goes on or has failed for good.
    if (isSubmitted(toAppError(error, request))) reply.header('x-should-retry', 'false')
    handleErrors(openAiErrorBody)(error, request, reply)
  })

  app.post(
    '/images/generations',
    {
      schema: {
        operationId: 'createOpenAiImages',
        tags: ['Create Image'],
        summary: "Create images, in OpenAI's shape",
        description:
          'Answers when the pictures are stored, within 120 s. Takes the fields of Create Image beside those of OpenAI, ' +
          'and refuses what it cannot honour; `X-Ignored-Fields` names what changes nothing.',
        headers: idempotencyKeyHeader,
        body: openAiBody,
        response: { 200: pictures, ...refusals(400, 402, 403, 404, 409, 413, 415, 422, 504) },
      },
    },
    async (request, reply) => {
      const { model, request: asked, format, ignored } = request.body
      if (ignored.length > 0) reply.header('x-ignored-fields', ignored.join(', '))
      const { submitted, slugs } = await createPictures(request, reply, {
        request: asked,
        model: async () => requireDrawable(ports, model, await findModel(ports.models, model), asked),
        idempotency: idempotencyOf(request, 'openai'),
      })
      const created = Math.floor(submitted.createdAt.getTime() / 1000)
      if (format === 'url') return { created, data: slugs.map((slug) => ({ url: ports.images.url(slug) })) }
      const files = await Promise.all(slugs.map((slug) => ports.files.read(slug))).catch((error) => {
        // They are charged and made.
        reply.header('x-should-retry', 'false')
        throw error
      })
      const data = files.flatMap((file) => (file ? [{ b64_json: file.toString('base64') }] : []))
      if (data.length === 0) throw pictureRemoved()
      return { created, data }
    },
  )

  app.get(
    '/models',
    {
      schema: {
        operationId: 'listOpenAiModels',
        tags: ['Create Image'],
        summary: "The models on offer, in OpenAI's shape",
        description:
          "Under Create Image's ID where there is one, else under the names of model and version. `model` may also be a " +
          "model version's ID.",
        response: { 200: modelList, ...refusals() },
      },
    },
    async (): Promise<z.output<typeof modelList>> => ({
      object: 'list',
      data: [...readableNames(await ports.models.listEnabled())].map(([id, { modelName }]) => ({
        id,
        object: 'model',
        created: 0,
        owned_by: modelName,
      })),
    }),
  )
}

/** By a model version's ID, a Create Image model's, or a readable name. */
async function findModel(models: ModelStore, model: string): Promise<ModelVersion | undefined> {
  if (/^\d{1,15}$/.test(model)) return models.find(Number(model))
  return (await models.findByCreateImageModel(model)) ?? readableNames(await models.listEnabled()).get(model)
}
