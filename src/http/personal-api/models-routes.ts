import type { ModelStore } from '../../catalog/model-version.js'
import type { App } from '../fastify-app.js'
import { refusals } from './envelope.js'
import { modelList, modelsView } from './views.js'

/** Spec 4.2. */
export function modelsRoutes(app: App, models: ModelStore): void {
  app.get(
    '/models',
    {
      schema: {
        operationId: 'listModels',
        tags: ['Generations'],
        summary: 'The model versions on offer',
        description: 'Sorted by the name of the model, then by that of the version.',
        response: { 200: modelList, ...refusals() },
      },
    },
    async () => modelsView(await models.listEnabled()),
  )
}
