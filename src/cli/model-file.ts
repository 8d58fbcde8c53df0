/** The file of `easel models import`. */
import { dirname, resolve } from 'node:path'
import type { ImportedModel } from '../db/operator/catalog.js'
import { requireDistinct } from '../http/shared/entries.js'
import { modelOfEntry } from '../process/model-entry.js'
import { readEntries, readText } from './json-file.js'

/** @throws OperatorError with one sentence that names the entry and the field */
export async function readModelFile(path: string): Promise<ImportedModel[]> {
  // A workflow's path begins from the folder of the file.
  const readWorkflow = (name: string) => readText(resolve(dirname(path), name))
  const models = await readEntries(path, 'model versions', (value) => modelOfEntry(value, readWorkflow))
  requireDistinct('id', models, ({ id }) => id)
  requireDistinct('create_image_model', models, ({ createImageModel }) => createImageModel)
  return models
}
