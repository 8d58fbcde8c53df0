/** The file of `easel models import`. */
import { dirname, resolve } from 'node:path'
import type { ImportedModel } from '../core/operator/catalog.js'
import { modelOfEntry, requireDistinctModels } from '../process/model-entry.js'
import { readEntries, readText } from './json-file.js'

/** @throws OperatorError with one sentence that names the entry and the field */
export async function readModelFile(path: string): Promise<ImportedModel[]> {
  // A workflow's path begins from the folder of the file. What is no text is refused in the words for workflows.
  const readWorkflow = (name: string) => readText(resolve(dirname(path), name), { lenient: true })
  const models = await readEntries(path, 'model versions', (value) => modelOfEntry(value, readWorkflow))
  requireDistinctModels(models)
  return models
}
