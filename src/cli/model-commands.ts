/** Model versions, and the file of `models import`: JSON's names on one side, the catalog's on the other. */
import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { z } from 'zod'
import { CREATE_IMAGE_MODELS } from '../core/catalog/model-version.js'
import { MAX_PRICE } from '../core/operator/catalog.js'
import { modelStore } from '../db/catalog/models.js'
import { type ImportedModel, operatorModelStore } from '../db/operator/catalog.js'
import { isLine } from '../lib/text.js'
import { REASON, type ReasonOption, wholeNumber } from './arguments.js'
import type { Operator, Runner } from './connection.js'
import { OperatorError } from './operator-error.js'
import { jsonOf, plural, table } from './output.js'

export function modelCommands(program: Command, run: Runner): void {
  const models = program.command('models').description('the model versions that users can choose')
  models
    .command('import')
    .description('add model versions, or update those whose ID exists already')
    .option(...REASON)
    .argument('<file>', 'a JSON array in the fields of "easel models list --json"')
    .action(run(importModels))
  models.command('list').description('list all model versions, disabled ones too').action(run(listModels))
  const enabling = (name: string, description: string, enabled: boolean) =>
    models
      .command(name)
      .description(description)
      .argument(...VERSION)
      .option(...REASON)
      .action(run((operator, id: number, { reason }: ReasonOption) => setEnabled(operator, id, enabled, reason)))
  enabling('enable', 'offer a model version', true)
  enabling('disable', 'stop offering a model version; what is queued still runs', false)
  models
    .command('price')
    .description('set what an image costs, for what is submitted from now on')
    .argument(...VERSION)
    .argument('<n>', 'credits per image', wholeNumber('N', 0, MAX_PRICE))
    .option(...REASON)
    .action(run(setPrice))
}

const VERSION = ['<id>', 'its ID', wholeNumber('ID', 1, Number.MAX_SAFE_INTEGER)] as const

async function importModels({ recorded }: Operator, file: string, { reason }: ReasonOption) {
  const models = await readModelFile(file)
  const imported = await recorded(
    reason,
    (db) => operatorModelStore(db).import(models),
    ({ outcome }) => (outcome === 'imported' ? [`imported ${plural(models.length, 'model version')}`, ''] : undefined),
  )
  if (imported.outcome === 'taken')
    throw new OperatorError(
      `create_image_model ${imported.createImageModel} belongs to model version ${imported.by}: to move it, set it to null there in the same file.`,
    )
  return { json: { imported: models.length }, text: `Imported ${plural(models.length, 'model version')}.` }
}

/** Its JSON can be imported again. */
async function listModels({ db, config }: Operator) {
  const models = await operatorModelStore(db).list()
  const usual = await modelStore(db, config.defaultModelVersionId).findDefault()
  return {
    json: models.map((model) => jsonOf(model)),
    text: table(
      models.map((it) => ({
        ...{ id: it.id, model: it.modelName, version: it.name, base: it.baseModel, type: it.type, file: it.filename },
        ...{
          credits: it.creditsPerImage,
          nsfw: it.nsfw,
          enabled: it.enabled,
          default: it.id === usual?.id,
          'create image': it.createImageModel,
        },
      })),
      'No model versions: import some with "models import FILE.json".',
    ),
  }
}

async function setEnabled({ db, by }: Operator, id: number, enabled: boolean, reason: string | undefined) {
  if (!(await operatorModelStore(db).setEnabled(id, enabled, by(reason)))) throw noSuchVersion(id)
  return { json: { id, enabled }, text: `Model version ${id} is ${enabled ? 'enabled' : 'disabled'}.` }
}

async function setPrice({ db, by }: Operator, id: number, credits: number, { reason }: ReasonOption) {
  if (!(await operatorModelStore(db).setPrice(id, credits, by(reason)))) throw noSuchVersion(id)
  return {
    json: { id, credits_per_image: credits },
    text: `An image of model version ${id} costs ${plural(credits, 'credit')}.`,
  }
}

const noSuchVersion = (id: number) =>
  new OperatorError(`No model version has the ID ${id}: "easel models list" shows them.`)

const ID = 'must be a whole number from 1'
const PRICE = `must be a whole number from 0 to ${MAX_PRICE}`
const text = z.string('must be a text').refine((value) => isLine(value, 255), 'must be one line of 1 to 255 characters')
const flag = z.boolean('must be true or false')

const entry = z.strictObject({
  id: z.int(ID).min(1, ID),
  name: text,
  model_name: text,
  base_model: text,
  type: text,
  filename: text,
  cover_image: z.httpUrl('must be an http:// or https:// URL, or null').nullish(),
  nsfw: flag.optional(),
  enabled: flag.optional(),
  credits_per_image: z.int(PRICE).min(0, PRICE).max(MAX_PRICE, PRICE).optional(),
  create_image_model: z.enum(CREATE_IMAGE_MODELS, `must be ${CREATE_IMAGE_MODELS.join(', ')}, or null`).nullish(),
})

/** @throws OperatorError with one sentence that names the entry and the field */
async function readModelFile(path: string): Promise<ImportedModel[]> {
  const content = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new OperatorError(`${path} can't be read (${error.code}): give the path of a JSON file.`)
  })
  const list = parseJson(path, content)
  if (!Array.isArray(list)) throw new OperatorError(`${path} must hold a JSON array of model versions.`)
  const models = list.map(toModel)
  requireDistinct('id', models, ({ id }) => id)
  requireDistinct('create_image_model', models, ({ createImageModel }) => createImageModel)
  return models
}

function parseJson(path: string, content: string): unknown {
  try {
    return JSON.parse(content.replace(/^\ufeff/, ''))
  } catch (error) {
    throw new OperatorError(`${path} is not valid JSON: ${(error as Error).message}.`)
  }
}

function toModel(value: unknown, index: number): ImportedModel {
  const parsed = entry.safeParse(value)
  if (!parsed.success) throw new OperatorError(`Entry ${index + 1}: ${mistakeOf(parsed.error, value)}.`)
  const { model_name, base_model, cover_image, credits_per_image, create_image_model, ...same } = parsed.data
  return {
    ...same,
    modelName: model_name,
    baseModel: base_model,
    coverImage: cover_image,
    creditsPerImage: credits_per_image,
    createImageModel: create_image_model,
  }
}

function mistakeOf({ issues: [issue] }: z.ZodError, value: unknown): string {
  if (issue?.code === 'unrecognized_keys')
    return `unknown field ${issue.keys.map((key) => `"${key}"`).join(', ')}; the fields are ${Object.keys(entry.shape).join(', ')}`
  const field = issue?.path[0]
  if (field === undefined) return 'must be a JSON object'
  return `${String(field)} ${Object.hasOwn(value as object, field) ? issue?.message : 'is missing'}`
}

function requireDistinct(field: string, models: readonly ImportedModel[], of: (model: ImportedModel) => unknown): void {
  const values = models.map(of)
  for (const [index, value] of values.entries()) {
    const first = values.indexOf(value)
    if (value && first < index)
      throw new OperatorError(`Entries ${first + 1} and ${index + 1} have the same ${field}, ${value}.`)
  }
}
