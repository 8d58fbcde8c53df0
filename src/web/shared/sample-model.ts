import type { ModelStore } from '../../core/catalog/model-version.js'

/** The ID that samples draw with: the default model's. Pages that need no Postgres get that of a fresh catalog without it. */
export const sampleModelId = async (models: Pick<ModelStore, 'findDefault'>): Promise<number> =>
  (await models.findDefault().catch(() => undefined))?.id ?? 1
