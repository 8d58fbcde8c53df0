import { z } from 'zod'
import { invalidParameter } from '../../core/errors.js'
import {
  importModels,
  MAX_PRICE,
  noSuchVersion,
  type PreparedImport,
  setEnabled,
  setPrice,
} from '../../core/operator/catalog.js'
import { IMPORT_CHANGES, sayUnserved } from '../../core/operator/imported-versions.js'
import { personalRefusals } from '../shared/error-bodies.js'
import type { App } from '../shared/fastify-app.js'
import * as field from '../shared/fields.js'
import { viewOf } from '../shared/responses.js'
import { type ActPorts, act } from './acts.js'
import * as admin from './admin-fields.js'

const tags = ['Models']

const model = z
  .looseObject({
    id: z.int(),
    name: z.string().describe('Of the version'),
    model_name: z.string(),
    base_model: z.string(),
    type: z.string(),
    filename: z.string(),
    cover_image: z.string().nullable(),
    description: z.string().optional().describe('A line about it'),
    position: z.int().optional().describe('Its place where people choose'),
    nsfw: z.boolean(),
    enabled: z.boolean(),
    credits_per_image: z.int(),
    create_image_model: z.string().nullable(),
    served_by: z.array(z.string()).describe('Backends that are up and draw with it'),
    not_served: z.array(z.string()).describe('Where there is none: why'),
  })
  .meta({ id: 'AdminModel' })
const listSchema = {
  operationId: 'listModels',
  tags,
  summary: 'All model versions, those that are off, too',
  description: 'With prices and parameters, in the fields of an import, and who serves them.',
  response: { 200: z.object({ models: z.array(model) }).meta({ id: 'AdminModelList' }), ...personalRefusals() },
}

const imported = z.object({
  id: z.int(),
  filename: z.string(),
  before: z.string().optional().describe('What it drew with'),
  change: z.enum(IMPORT_CHANGES),
  fields: z.array(z.string()).describe('The other fields that changed'),
  served_by: z.array(z.string()),
  not_served: z.array(z.string()),
})
const importSchema = {
  operationId: 'importModels',
  tags,
  summary: 'Add model versions, or update those whose ID exists already; all or none',
  description:
    'In the fields of the list; a ComfyUI workflow is given in `workflow`. Asks the GPU servers that are up, which takes seconds.',
  headers: admin.POSTED,
  body: field.body({
    models: z.array(z.unknown(), 'models must be a list.').max(1000).describe('As in a file of models'),
    meant: z
      .boolean('meant must be true or false.')
      .optional()
      .describe('A version that is drawn now may have what no GPU server that is up can draw'),
    reason: admin.reason,
  }),
  response: {
    200: z.object({ imported: z.int(), versions: z.array(imported) }).meta({ id: 'AdminImportedModels' }),
    ...personalRefusals(400, 409, 413, 415, 422),
  },
}

const changeSchema = {
  operationId: 'changeModel',
  tags,
  summary: 'Offer a model version, or offer it no more, or set its price',
  description: 'What is queued still runs, at the price of its submit.',
  params: field.idParams("A model version's ID"),
  body: field.body({
    enabled: z.boolean('enabled must be true or false.').optional(),
    credits_per_image: field.integer('credits_per_image', { min: 0, max: MAX_PRICE }).optional(),
    reason: admin.reason,
  }),
  response: {
    200: z
      .object({ id: z.int(), enabled: z.boolean().optional(), credits_per_image: z.int().optional() })
      .meta({ id: 'AdminChangedModel' }),
    ...personalRefusals(400, 404, 413, 415),
  },
}

export interface ModelPorts extends ActPorts {
  readonly models: {
    /** In the fields of an import, with who serves them. */
    list(): Promise<readonly object[]>
    /** Reads entries, and asks the backends about them. @throws invalid_request */
    prepare(entries: readonly unknown[]): Promise<PreparedImport>
  }
}

export function modelRoutes(app: App, ports: ModelPorts): void {
  const config = admin.OF_MODELS

  app.get('/models', { schema: listSchema }, async () => ({
    models: (await ports.models.list()) as z.output<typeof model>[],
  }))

  app.post(
    '/models/import',
    { config, bodyLimit: admin.IMPORT_LIMIT, schema: importSchema },
    async (request, reply) => {
      const { models, meant } = request.body
      // Before the transaction: it waits for what the backends say.
      const prepared = await ports.models.prepare(models)
      return act(request, reply, ports, async (acting) => {
        const versions = await importModels(acting, prepared, async (unserved) => {
          if (meant) return
          const why = unserved.flatMap(({ notServed }) => notServed).join(' ')
          throw invalidParameter(
            'meant',
            `${sayUnserved(unserved)}: send "meant": true if that is what you mean. ${why}`,
          )
        })
        return { body: { imported: models.length, versions: versions.map((it) => viewOf(imported, it as never)) } }
      })
    },
  )

  app.patch('/models/:id', { config, schema: changeSchema }, (request, reply) => {
    const id = Number(/^\d{1,15}$/.exec(request.params.id)?.[0] ?? 0)
    const { enabled, credits_per_image } = request.body
    if (enabled === undefined && credits_per_image === undefined)
      throw invalidParameter('enabled', 'Nothing to change: give enabled or credits_per_image.')
    return act(request, reply, ports, async (acting) => {
      if (id === 0) throw noSuchVersion(request.params.id)
      if (credits_per_image !== undefined) await setPrice(acting, id, credits_per_image)
      if (enabled !== undefined) await setEnabled(acting, id, enabled)
      return { body: { id, enabled, credits_per_image } }
    })
  })
}
