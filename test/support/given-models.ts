/** Model versions with values of their own. */
import type { ModelVersion } from '../../src/core/catalog/model-version.js'
import type { Database } from '../../src/db/client.js'
import { operatorModelStore } from '../../src/db/operator/catalog.js'
import { MODEL } from './givens.js'

/** Ten steps at most, no guidance, small sizes and images twice as large; a price by steps. */
export const TURBO = {
  ...{ id: 2001, modelName: 'Krea 2', name: 'turbo', baseModel: 'Krea', type: 'Workflow', filename: 'krea-2-turbo@1' },
  pricing: { creditsPerStep: 0.5 },
  parameters: {
    defaults: { steps: 8, cfgScale: 1, sampler: 'euler', width: 512, height: 512 },
    limits: { steps: { min: 1, max: 10 }, width: { min: 256, max: 1024 }, batchSize: { min: 1, max: 2 } },
    ignored: ['negativePrompt', 'cfgScale'],
    ...{ sizeMultiple: 64, scale: 2 },
  },
} as const
/** Another one, with a negative prompt and a sampler of its own. */
export const MUTED = {
  ...{ id: 2002, modelName: 'Muted', name: 'v1', baseModel: 'SDXL', type: 'Workflow', filename: 'muted-v1@1' },
  parameters: { defaults: { negativePrompt: 'loud "colours"', sampler: 'ddim' }, ignored: ['steps', 'sampler'] },
} as const

export const givenOwnModels = (db: Database) =>
  operatorModelStore(db).import([TURBO, MUTED] as unknown as Parameters<
    ReturnType<typeof operatorModelStore>['import']
  >[0])

/** As the catalog has it. */
export const modelOf = (given: typeof TURBO | typeof MUTED): ModelVersion =>
  ({ ...MODEL, pricing: null, createImageModel: null, ...given }) as ModelVersion
