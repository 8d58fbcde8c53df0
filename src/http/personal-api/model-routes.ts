import { z } from 'zod'
import type { ModelStore, ModelVersion } from '../../catalog/model-version.js'
import { personalRefusals } from '../error-bodies.js'
import type { App } from '../fastify-app.js'

const modelVersion = z.object({
  id: z.int().min(1).describe('Goes into `model_version_id`'),
  name: z.string().describe("The version's name"),
  model_name: z.string(),
  base_model: z.string().describe('The architecture, such as "Pony" or "Illustrious"'),
  type: z.string().describe('Such as "Checkpoint"'),
  filename: z.string(),
  cover_image: z.string().nullable().describe('A URL'),
  nsfw: z.boolean(),
})

const EXAMPLE = {
  id: 10,
  name: 'v6',
  model_name: 'Pony Diffusion',
  base_model: 'Pony',
  type: 'Checkpoint',
  filename: 'ponyDiffusionV6XL.safetensors',
  cover_image: null,
  nsfw: false,
}

const modelList = z
  .object({ models: z.array(modelVersion), count: z.int().min(0).describe('How many there are') })
  .meta({ id: 'ModelList', examples: [{ models: [EXAMPLE], count: 1 }] })

const modelView = (model: ModelVersion): z.output<typeof modelVersion> => ({
  id: model.id,
  name: model.name,
  model_name: model.modelName,
  base_model: model.baseModel,
  type: model.type,
  filename: model.filename,
  cover_image: model.coverImage,
  nsfw: model.nsfw,
})

/** Spec 4.2. */
const listModelsSchema = {
  operationId: 'listModels',
  tags: ['Generations'],
  summary: 'The model versions on offer',
  description: 'Sorted by the name of the model, then by that of the version.',
  response: { 200: modelList, ...personalRefusals() },
}

/** The catalog. */
export function modelRoutes(app: App, models: ModelStore): void {
  app.get('/models', { schema: listModelsSchema }, async () => {
    const enabled = await models.listEnabled()
    return { models: enabled.map(modelView), count: enabled.length }
  })
}
