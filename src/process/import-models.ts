/** Prepares an import of model versions, and says what GPU servers make of them. */
import { setTimeout as delay } from 'node:timers/promises'
import { isDefinition } from '../core/catalog/model-definition.js'
import type { ModelVersion } from '../core/catalog/model-version.js'
import { AppError } from '../core/errors.js'
import type { ImportedModel, PreparedImport } from '../core/operator/catalog.js'
import { changeOf, type ImportedVersion, type UnservedVersion } from '../core/operator/imported-versions.js'
import type { BackendState } from '../core/operator/overview.js'
import { hasSaid, servedBy, whyNotServed } from '../core/operator/serving.js'
import type { Database } from '../db/client.js'
import { operatorModelStore, versionExists } from '../db/operator/catalog.js'
import { entriesOf } from '../http/shared/entries.js'
import { modelOfEntry, requireDistinctModels, toEntry } from './model-entry.js'

/** Servers answer late while they draw. A backend that has not said in this time whether it draws counts as one that does not. */
const SAY_WITHIN_MS = 10_000
const LOOK_MS = 100
/** A worker that has just read which definitions are asked about reads it again after a second. */
const ASK_EVERY_MS = 1500

/** @param onlyNew updates no version that exists. @throws invalid_request */
export async function prepareImport(
  db: Database,
  models: readonly ImportedModel[],
  onlyNew = false,
): Promise<PreparedImport> {
  const store = operatorModelStore(db)
  const existing = new Map((await store.list()).map((model) => [model.id, model]))
  const taken = onlyNew ? models.find(({ id }) => existing.has(id)) : undefined
  if (taken) throw versionExists(taken.id)
  const filenames = await store.storeDefinitions(models)
  const moved = filenames.filter((filename, n) => existing.get(models[n]?.id ?? 0)?.filename !== filename)
  const backends = await askBackends(db, moved.filter(isDefinition))
  const unserved = models.flatMap(({ id, enabled = true }, n): UnservedVersion[] => {
    const [was, filename] = [existing.get(id), `${filenames[n]}`]
    const loses = was?.enabled && enabled && moved.includes(filename) && isDefinition(filename)
    if (!loses || !isServed(backends, was.filename) || isServed(backends, filename)) return []
    return [{ id, filename, before: was.filename, notServed: whyNotServed(backends, filename) }]
  })
  return {
    count: models.length,
    unserved,
    import: (catalog) => catalog.import(models, onlyNew),
    versionsOf: (now) =>
      models.flatMap(({ id }) => {
        const model = now.find((it) => it.id === id)
        return model ? [versionOf(model, existing.get(id), backends)] : []
      }),
  }
}

/** The same of entries that another computer has sent. @throws invalid_request with one sentence that names the entry */
export async function prepareEntries(db: Database, entries: readonly unknown[]): Promise<PreparedImport> {
  const models = await entriesOf(entries, (entry) => modelOfEntry(entry, refuseFile))
  requireDistinctModels(models)
  return prepareImport(db, models)
}

const refuseFile = async (path: string): Promise<string> => {
  throw new AppError('invalid_request', `${path} is a file of another computer: give the workflow itself in workflow.`)
}

const isServed = (backends: readonly BackendState[], filename: string): boolean =>
  servedBy(backends, filename).length > 0

/** The backends as they are once all that are up have said whether they draw with these definitions, or some time has gone by. */
async function askBackends(db: Database, definitions: readonly string[]): Promise<BackendState[]> {
  const store = operatorModelStore(db)
  const asked = await store.ask(definitions)
  const isOpen = (it: BackendState) =>
    it.up && asked.some(({ filename, askedAt }) => it.seenAt < askedAt || !hasSaid(it, filename))
  let askedLast = performance.now()
  for (const deadline = askedLast + SAY_WITHIN_MS; ; await delay(LOOK_MS)) {
    const backends = await store.backends()
    if (!backends.some(isOpen) || performance.now() > deadline) return backends
    if (performance.now() - askedLast < ASK_EVERY_MS) continue
    await store.ask(definitions)
    askedLast = performance.now()
  }
}

function versionOf(model: ModelVersion, before: ModelVersion | undefined, backends: BackendState[]): ImportedVersion {
  const { id, filename } = model
  const fields = before ? changedFields(toEntry(before), toEntry(model)) : []
  const serving = servedBy(backends, filename)
  return {
    ...{ id, filename, before: before?.filename, fields, change: changeOf(before?.filename, filename, fields) },
    servedBy: serving,
    notServed: serving.length > 0 ? [] : whyNotServed(backends, filename),
  }
}

type Entry = Readonly<Record<string, unknown>>

const changedFields = (before: Entry, after: Entry): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => name !== 'filename' && JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  )
