import type { ModelStore } from '../../catalog/model-version.js'
import type { App } from '../app.js'
import { modelsView } from './views.js'

/** Spec 4.2. */
export function modelsRoutes(app: App, models: ModelStore): void {
  app.get('/models', async () => modelsView(await models.listEnabled()))
}
