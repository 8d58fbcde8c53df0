import { type ModelStore, type ModelVersion, readableNames } from '../../core/catalog/model-version.js'
import { type AppError, createImageModelNotFound, type ErrorCode, imageRemoved } from '../../core/errors.js'
import { handleErrors, toAppError } from '../shared/error-responses.js'
import type { App } from '../shared/fastify-app.js'
import { idempotencyOf } from '../shared/idempotency-key.js'
import type { CreateImageApiPorts } from '../shared/ports.js'
import type { CreateImages } from './generate-routes.js'
import { DEFAULTS, requireUsableModel } from './generate-schemas.js'
import {
  createOpenAiImagesSchema,
  getOpenAiModelSchema,
  listOpenAiModelsSchema,
  openAiModelView,
  underIdempotencyKey,
} from './openai-schemas.js'

/** Create Image in OpenAI's shape, for its clients: the same keys, limits, queue and images. */
export function openAiRoutes(app: App, ports: CreateImageApiPorts, createImages: CreateImages): void {
  app.setErrorHandler((error, request, reply) => {
    // OpenAI's clients retry every 5xx: they would submit again a generation that still runs or has failed for good.
    if (wasSubmitted(toAppError(error, request))) reply.header('x-should-retry', 'false')
    handleErrors(error, request, reply)
  })

  app.post('/images/generations', { schema: createOpenAiImagesSchema }, async (request, reply) => {
    const { model, request: generation, format, ignored } = request.body
    const names = Object.keys(ignored)
    if (names.length > 0) reply.header('x-ignored-fields', names.join(', '))
    const { submitted, slugs } = await createImages(request, reply, {
      lane: 'create_image',
      request: generation,
      model: async () => {
        const found = model === undefined ? await ports.models.findDefault() : await findModel(ports.models, model)
        return requireUsableModel(ports.abilities, model ?? DEFAULTS.model, found, generation.sampler)
      },
      idempotency: idempotencyOf({ headers: request.headers, body: underIdempotencyKey(request.body) }, 'openai'),
    })
    const created = Math.floor(submitted.createdAt.getTime() / 1000)
    if (format === 'url') return { created, data: slugs.map((slug) => ({ url: ports.images.url(slug) })) }
    const files = await Promise.all(slugs.map((slug) => ports.files.read(slug))).catch((error) => {
      // The images are made and charged.
      reply.header('x-should-retry', 'false')
      throw error
    })
    const data = files.flatMap((file) => (file ? [{ b64_json: file.toString('base64') }] : []))
    if (data.length === 0) throw imageRemoved()
    return { created, data }
  })

  app.get('/models', { schema: listOpenAiModelsSchema }, async () => {
    const names = readableNames(await ports.models.listEnabled())
    return { object: 'list' as const, data: [...names].map(([id, model]) => openAiModelView(id, model)) }
  })

  app.get('/models/:id', { schema: getOpenAiModelSchema }, async ({ params: { id } }) => {
    const models = await ports.models.listEnabled()
    const found = readableNames(models).get(id) ?? models.find((model) => `${model.id}` === id)
    if (!found) throw createImageModelNotFound(id)
    return openAiModelView(id, found)
  })
}

const ENDED: readonly ErrorCode[] = ['generation_failed', 'timeout']

/** Whether the error came after the submit. If the server leaves during the wait, its error names the generation. */
const wasSubmitted = ({ code, detail }: AppError): boolean =>
  ENDED.includes(code) || (code === 'unavailable' && detail.generationId !== undefined)

/** By a model version's ID, a Create Image model's, or a readable name. */
async function findModel(models: ModelStore, model: string): Promise<ModelVersion | undefined> {
  if (/^\d{1,15}$/.test(model)) return models.find(Number(model))
  return (await models.findByCreateImageModel(model)) ?? readableNames(await models.listEnabled()).get(model)
}
