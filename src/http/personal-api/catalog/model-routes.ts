import { z } from 'zod'
import type { ModelStore } from '../../../core/catalog/model-version.js'
import { singleFlight } from '../../../lib/batch.js'
import { personalRefusals } from '../../shared/error-bodies.js'
import type { App } from '../../shared/fastify-app.js'
import { EXAMPLE, notModified, sendTagged, taggedBody, viewOf } from '../../shared/responses.js'

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

const EXAMPLE_MODEL = {
  id: EXAMPLE.model.model_version_id,
  name: 'v6',
  model_name: EXAMPLE.model.model_name,
  base_model: 'Pony',
  type: 'Checkpoint',
  filename: 'ponyDiffusionV6XL.safetensors',
  cover_image: null,
  nsfw: false,
}

const modelList = z
  .object({ models: z.array(modelVersion), count: z.int().min(0).describe('How many there are') })
  .meta({ id: 'ModelList', examples: [{ models: [EXAMPLE_MODEL], count: 1 }] })

const listModelsSchema = {
  operationId: 'listModels',
  tags: ['Generations'],
  summary: 'The model versions on offer',
  description: 'Sorted by the name of the model, then by that of the version.',
  response: { 200: modelList, 304: notModified, ...personalRefusals(412) },
}

/** The catalog, spec 4.2. */
export function modelRoutes(app: App, models: ModelStore): void {
  // Concurrent requests share one read, so that none gets a catalog older than itself.
  const list = singleFlight(async () => {
    const enabled = await models.listEnabled()
    return taggedBody({ models: enabled.map((model) => viewOf(modelVersion, model)), count: enabled.length })
  })
  app.get('/models', { schema: listModelsSchema }, async (request, reply) => sendTagged(request, reply, await list()))
}
