/** Which backends draw with a model version, and why others do not. */
import { isDefinition } from '../catalog/model-definition.js'
import type { ModelVersion } from '../catalog/model-version.js'
import type { CatalogChanges } from './catalog.js'
import type { BackendState } from './overview.js'

type Announced = Pick<BackendState, 'name' | 'up' | 'models' | 'lacks' | 'error'>

const draws = ({ models }: Announced, filename: string): boolean => models === null || models.includes(filename)

/** The names of the backends that are up and draw with it. */
export const servedBy = (backends: readonly Announced[], filename: string): string[] => [
  ...new Set(backends.filter((it) => it.up && draws(it, filename)).map(({ name }) => name)),
]

/** Whether a backend has said since it was asked whether it draws with a definition. */
export const hasSaid = (backend: Announced, filename: string): boolean =>
  draws(backend, filename) || backend.lacks?.[filename] !== undefined

/** Why nobody draws with it, a sentence for each thing to mend. */
export function whyNotServed(backends: readonly Announced[], filename: string): string[] {
  if (backends.length === 0) return ['No worker reports a GPU server: start one.']
  const up = backends.filter((it) => it.up)
  if (up.length === 0) {
    const states = backends.map(({ name, error }) => (error === null ? name : `${name}: ${error}`))
    return [`No GPU server is up (${[...new Set(states)].join('; ')}).`]
  }
  if (!isDefinition(filename))
    return ['No GPU server that is up lists its file: put that file where one looks for checkpoints.']
  return up
    .filter((it) => !draws(it, filename))
    .flatMap(({ name, lacks }) => (lacks?.[filename] ?? SILENT).map((reason) => `${name}: ${reason}`))
}

const SILENT = ['It has not said yet whether it can draw it; if that stays so, the log of its worker says why.']

/** Of a model version: who serves it and, where nobody does, why. Backends do not look at what is off. */
export function servingOf(
  backends: readonly Announced[],
  { filename, enabled }: Pick<ModelVersion, 'filename' | 'enabled'>,
) {
  const serving = servedBy(backends, filename)
  if (serving.length > 0) return { servedBy: serving, notServed: [] }
  const isUnasked = !enabled && isDefinition(filename)
  return {
    servedBy: [],
    notServed: isUnasked ? ['It is off, so no GPU server is asked.'] : whyNotServed(backends, filename),
  }
}

/** All model versions, with who serves them. */
export async function modelsServed(catalog: Pick<CatalogChanges, 'list' | 'backends'>) {
  const [models, backends] = await Promise.all([catalog.list(), catalog.backends()])
  return models.map((model) => ({ model, ...servingOf(backends, model) }))
}

export type ServedModel = Awaited<ReturnType<typeof modelsServed>>[number]
