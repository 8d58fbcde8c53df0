/** The file of `easel models import`. */
import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { AppError } from '../core/errors.js'
import type { ImportedModel } from '../db/operator/catalog.js'
import { modelOfEntry } from '../process/model-entry.js'
import { OperatorError } from './operator-error.js'

/** @throws OperatorError with one sentence that names the entry and the field */
export async function readModelFile(path: string): Promise<ImportedModel[]> {
  const list = parseJson(path, await readText(path))
  if (!Array.isArray(list)) throw new OperatorError(`${path} must hold a JSON array of model versions.`)
  const models: ImportedModel[] = []
  for (const [index, value] of list.entries()) models.push(await toModel(value, index, dirname(path)))
  requireDistinct('id', models, ({ id }) => id)
  requireDistinct('create_image_model', models, ({ createImageModel }) => createImageModel)
  return models
}

/** @param folder of the file, from which a workflow's path begins */
const toModel = (value: unknown, index: number, folder: string): Promise<ImportedModel> =>
  modelOfEntry(value, (path) => readText(resolve(folder, path))).catch((error) => {
    throw error instanceof AppError ? new OperatorError(`Entry ${index + 1}: ${error.message}`) : error
  })

const readText = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new OperatorError(`${path} can't be read (${error.code}): give the path of a JSON file.`)
  })

function parseJson(path: string, content: string): unknown {
  try {
    return JSON.parse(content.replace(/^\ufeff/, ''))
  } catch (error) {
    throw new OperatorError(`${path} is not valid JSON: ${(error as Error).message}.`)
  }
}

function requireDistinct(field: string, models: readonly ImportedModel[], of: (model: ImportedModel) => unknown): void {
  const values = models.map(of)
  for (const [index, value] of values.entries()) {
    const first = values.indexOf(value)
    if (value && first < index)
      throw new OperatorError(`Entries ${first + 1} and ${index + 1} have the same ${field}, ${value}.`)
  }
}
