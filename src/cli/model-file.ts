/** The file of `easel models import`. */
import { dirname, resolve } from 'node:path'
import type { ImportedModel } from '../core/operator/catalog.js'
import { entriesOf } from '../http/shared/entries.js'
import { isWorkflow } from '../inference/comfyui/workflow/read-workflow.js'
import { modelOfEntry, requireDistinctModels } from '../process/model-entry.js'
import { readList, readText } from './json-file.js'

/** @throws OperatorError with one sentence that names the entry and the field */
export async function readModelFile(path: string): Promise<ImportedModel[]> {
  // A workflow's path begins from the folder of the file. A picture is refused in the words for workflows.
  const readWorkflow = (name: string) => readText(resolve(dirname(path), name), { orPicture: true })
  const entries = await readList(path, 'model versions', workflowItself)
  const models = await entriesOf(entries, (value) => modelOfEntry(value, readWorkflow))
  requireDistinctModels(models)
  return models
}

/** The file that ComfyUI has exported, instead of one with an entry that names it. */
const workflowItself = (value: unknown): string | undefined =>
  isWorkflow(value) && !isEntries(value)
    ? 'is a ComfyUI workflow itself, and an import needs an entry that names it: "easel workflow check FILE" writes that entry.'
    : undefined

const isEntries = (value: unknown): boolean =>
  Array.isArray(value) && value.some((it) => typeof it === 'object' && it !== null && 'id' in it && 'model_name' in it)
