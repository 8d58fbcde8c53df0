import type { Command } from 'commander'
import type { ModelVersion } from '../core/catalog/model-version.js'
import { lowestPrice } from '../core/catalog/price.js'
import { MAX_PRICE } from '../core/operator/catalog.js'
import { modelStore } from '../db/catalog/models.js'
import { type ImportedModel, operatorModelStore } from '../db/operator/catalog.js'
import { toEntry } from '../process/model-entry.js'
import { REASON, type ReasonOption, wholeNumber } from './arguments.js'
import type { Operator, Runner } from './connection.js'
import { readModelFile } from './model-file.js'
import { OperatorError } from './operator-error.js'
import { plural, table } from './output.js'

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
  return {
    json: { imported: models.length },
    text: [`Imported ${plural(models.length, 'model version')}.`, ...definitionLines(models, imported.filenames)].join(
      '\n',
    ),
  }
}

/** What became of the workflows. */
const definitionLines = (models: readonly ImportedModel[], filenames: readonly string[]) =>
  models.flatMap((model, n) =>
    'definition' in model ? [`Version ${model.id} draws with ${filenames[n]}; "easel workflow check" says how.`] : [],
  )

/** Its JSON can be imported again. */
async function listModels({ db, config }: Operator) {
  const models = await operatorModelStore(db).list()
  const usual = await modelStore(db, config.defaultModelVersionId).findDefault()
  return {
    json: models.map(toEntry),
    text: table(
      models.map((it) => ({
        ...{ id: it.id, model: it.modelName, version: it.name, base: it.baseModel, type: it.type, file: it.filename },
        ...{
          credits: creditsOf(it),
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

/** Per image; with a formula, what it is at least. */
const creditsOf = (model: ModelVersion) => (model.pricing ? `from ${lowestPrice(model)}` : model.creditsPerImage)

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
