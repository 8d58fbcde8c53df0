import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type ModelStore, type ModelVersion, readableNames } from '../../core/catalog/model-version.js'
import {
  AppError,
  createImageModelNotFound,
  type ErrorCode,
  imageRemoved,
  invalidParameter,
} from '../../core/errors.js'
import { openAiRefusals } from '../shared/error-bodies.js'
import { handleErrors, toAppError } from '../shared/error-responses.js'
import type { App } from '../shared/fastify-app.js'
import * as field from '../shared/fields.js'
import { fitsCanvas, SHARED_LIMITS, side } from '../shared/generation-fields.js'
import { idempotencyKeyHeader, idempotencyOf, nameIgnored } from '../shared/idempotency-key.js'
import type { CreateImageApiPorts } from '../shared/ports.js'
import { EXAMPLE } from '../shared/responses.js'
import type { CreateImages } from './generate-routes.js'
import { askedOf, DEFAULTS, drawingFields, INTERFACE_LIMITS, requireUsableModel } from './generate-schemas.js'

const AUTO = 'auto'
const AUTO_SIZE = { width: 1024, height: 1024 }
const SIZE_FORM = `size must be "${AUTO}" or <width>x<height> such as 1024x1024.`

const sides = z.object({ width: side("size's width"), height: side("size's height") }, SIZE_FORM).refine(...fitsCanvas)

const size = z
  .string(SIZE_FORM)
  .nullish()
  .describe(`"${AUTO}" or <width>x<height>; left out, ${AUTO_SIZE.width}x${AUTO_SIZE.height} as for "${AUTO}"`)
  .transform((value, context) => {
    if (value === AUTO || value === undefined || value === null)
      return { width: undefined, height: undefined, isAuto: value === AUTO }
    const [, width, height] = /^(\d{1,5})[x×*](\d{1,5})$/i.exec(value) ?? []
    const parsed = sides.safeParse(width && { width: Number(width), height: Number(height) })
    if (parsed.success) return { ...parsed.data, isAuto: false }
    context.addIssue({ code: 'custom', message: parsed.error.issues[0]?.message ?? SIZE_FORM })
    return z.NEVER
  })

const MODEL_FORM = 'model must be the ID of a model: GET /v1/models lists them.'

/** A field of OpenAI's that may only ask for what the server does anyway. */
const onlyChoice = (name: string, values: readonly [string, ...string[]]) => field.choice(name, values).nullish()

/** Fields of OpenAI's that change nothing here, and whose effect nobody would miss. */
const ignoredFields = {
  user: z.string('user must be a string.').nullish(),
  quality: z.string('quality must be a string.').nullish(),
  style: z.string('style must be a string.').nullish(),
  moderation: z.string('moderation must be a string.').nullish(),
  output_compression: z.number('output_compression must be a number.').nullish(),
}

/** What OpenAI's newer image models take and the older ones refuse. */
const newerFields = {
  background: onlyChoice('background', ['auto', 'opaque']),
  output_format: onlyChoice('output_format', ['png']),
  stream: z.literal(false, 'stream must be false: this server answers when all images are stored.').nullish(),
  partial_images: z.literal(0, 'partial_images must be 0: this server sends none.').nullish(),
  moderation: ignoredFields.moderation,
  output_compression: ignoredFields.output_compression,
}
const OLDER_QUALITIES: readonly unknown[] = [undefined, null, 'standard', 'hd']

/** The fields with these names that were sent. */
const sentOf = (names: object, body: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(body).filter(([name, value]) => name in names && (value ?? null) !== null))

/** The body of OpenAI's images.generate as far as this server supports it, and Create Image's own fields. */
export const openAiBody = field
  .body({
    ...drawingFields,
    ...ignoredFields,
    ...newerFields,
    model: z
      .string(MODEL_FORM)
      .min(1, MODEL_FORM)
      .max(100, MODEL_FORM)
      .nullish()
      .describe('Left out: the default model of this server'),
    n: field.withDefault(field.integer('n', SHARED_LIMITS.batch_size), 1),
    size,
    response_format: field
      .choice('response_format', ['url', 'b64_json'])
      .nullish()
      .describe(
        "Left out: `url`, or `b64_json` with what only OpenAI's newer image models take, since those have no other",
      ),
  })
  .transform(({ size: { isAuto, ...sides }, ...body }) => {
    const isNewer =
      isAuto || !OLDER_QUALITIES.includes(body.quality) || Object.keys(sentOf(newerFields, body)).length > 0
    return {
      /** A Create Image model's ID, or a model version's as a string. */
      model: body.model ?? undefined,
      ...askedOf({ ...body, ...sides }, body.n, AUTO_SIZE),
      format: body.response_format ?? (isNewer ? 'b64_json' : 'url'),
      /** What was sent and changes nothing: without an Idempotency-Key another value still makes another request. */
      ignored: sentOf(ignoredFields, body),
      responseFormat: body.response_format ?? undefined,
    }
  })

/**
 * What tells requests under the same Idempotency-Key apart: as release 0.2.0 hashed it, whose answers are repeated for a day
 * after an upgrade.
 */
const underIdempotencyKey = (asked: z.output<typeof openAiBody>) => ({
  model: asked.model ?? DEFAULTS.model,
  request: asked.request,
  format: asked.responseFormat ?? 'url',
  ignored: Object.keys(asked.ignored),
})

const images = z
  .object({
    created: z.int().describe('Seconds since 1970'),
    data: z.array(
      z.object({
        url: z.string().optional().describe('Permanent and public'),
        b64_json: z.string().optional().describe('The PNG in base64'),
      }),
    ),
  })
  .meta({ id: 'OpenAiImages', examples: [{ created: 1795208651, data: [{ url: EXAMPLE.imageUrl }] }] })

const createOpenAiImagesSchema = {
  operationId: 'createOpenAiImages',
  tags: ['Create Image'],
  summary: "Create images, in OpenAI's shape",
  description:
    'Answers when the images are stored, within 120 s. Takes the fields of Create Image beside those of OpenAI, ' +
    'and refuses what it cannot honour; `X-Ignored-Fields` names what changes nothing.',
  headers: idempotencyKeyHeader,
  body: openAiBody,
  response: { 200: images, ...openAiRefusals(400, 402, 404, 409, 413, 415, 422, 504) },
}

const EXAMPLE_MODEL = { id: 'noobai-xl', object: 'model', created: 0, owned_by: 'NoobAI-XL' } as const

const openAiModel = z
  .object({
    id: z.string(),
    object: z.literal('model'),
    created: z.int().describe('Always 0: it is not known'),
    owned_by: z.string().describe("The model's name"),
  })
  .meta({ id: 'OpenAiModel', examples: [EXAMPLE_MODEL] })

const openAiModelView = (id: string, { modelName }: ModelVersion): z.output<typeof openAiModel> => ({
  ...{ id, object: 'model', created: 0, owned_by: modelName },
})

const modelList = z
  .object({ object: z.literal('list'), data: z.array(openAiModel) })
  .meta({ id: 'OpenAiModels', examples: [{ object: 'list', data: [EXAMPLE_MODEL] }] })

const listOpenAiModelsSchema = {
  operationId: 'listOpenAiModels',
  tags: ['Create Image'],
  summary: "The models on offer, in OpenAI's shape",
  description:
    "Under Create Image's ID where there is one, else under the names of model and version. `model` may also be a " +
    "model version's ID.",
  response: { 200: modelList, ...openAiRefusals() },
}

const getOpenAiModelSchema = {
  operationId: 'getOpenAiModel',
  tags: ['Create Image'],
  summary: "A model, in OpenAI's shape",
  description: "By the ID that the list has, or by a model version's.",
  params: field.idParams("The model's ID"),
  response: { 200: openAiModel, ...openAiRefusals(404) },
}

/** Create Image in OpenAI's shape, for its clients: the same keys, limits, queue and images. */
export function openAiRoutes(app: App, ports: CreateImageApiPorts, createImages: CreateImages): void {
  app.setErrorHandler((thrown, request, reply) => {
    const error = inOpenAiFields(thrown)
    // OpenAI's clients retry every 5xx: they would submit again a generation that still runs or has failed for good.
    if (wasSubmitted(toAppError(error, request))) reply.header('x-should-retry', 'false')
    handleErrors(error, request, reply)
  })

  const schema = createOpenAiImagesSchema
  app.post('/images/generations', { schema, preValidation: leaveOutBlanks }, async (request, reply) => {
    const { model, request: generation, omitted, format, ignored } = request.body
    const asked = { request: generation, omitted, interfaceLimits: INTERFACE_LIMITS }
    const ignoredFields = Object.keys(ignored)
    nameIgnored(reply, ignoredFields)
    const { submitted, slugs } = await createImages(request, reply, {
      lane: 'create_image',
      ...asked,
      ignoredFields,
      model: async () => {
        const found = model === undefined ? await ports.models.findDefault() : await findModel(ports.models, model)
        return requireUsableModel(ports.abilities, model ?? DEFAULTS.model, found, asked)
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

/** Forms of other programs send an empty text for what nobody filled in. An empty prompt is refused by its name. */
function leaveOutBlanks({ body }: FastifyRequest, _reply: FastifyReply, next: () => void): void {
  const fields = (body ?? {}) as Record<string, unknown>
  for (const [name, value] of Object.entries(fields)) if (value === '' && name !== 'prompt') delete fields[name]
  next()
}

/** What a model's limits are about, by the fields of this shape. */
const OPENAI_FIELDS: Readonly<Record<string, readonly [field: string, subject: string]>> = {
  batch_size: ['n', 'n'],
  width: ['size', "size's width"],
  height: ['size', "size's height"],
}

function inOpenAiFields(thrown: unknown): unknown {
  if (!(thrown instanceof AppError)) return thrown
  const { parameter = '' } = thrown.detail
  const [field, subject] = OPENAI_FIELDS[parameter] ?? []
  if (!field) return thrown
  return invalidParameter(field, thrown.message.replace(new RegExp(`^${parameter}`), `${subject}`))
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
