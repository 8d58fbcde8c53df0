import type { Command } from 'commander'
import { operatorModelStore } from '../db/model-store.js'
import { wholeNumber } from './arguments.js'
import type { Operator } from './connection.js'
import { modelJson, readModelFile } from './model-file.js'
import { OperatorError } from './operator-error.js'
import { type Answer, plural, type Runner, table } from './output.js'

export function modelCommands(program: Command, run: Runner): void {
  const models = program.command('models').description('the model versions that can be asked for')
  models
    .command('import')
    .description('add model versions, or update those whose ID is there already')
    .argument('<file>', 'a JSON array in the fields of "easel models list --json"')
    .action(run.connected(importModels))
  models.command('list').description('list all model versions, disabled ones too').action(run.connected(listModels))
  for (const [name, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const) {
    models
      .command(name)
      .description(enabled ? 'offer a model version' : 'offer a model version no longer; what is queued still runs')
      .argument('<id>', 'its ID', wholeNumber('ID', 1, Number.MAX_SAFE_INTEGER))
      .action(run.connected((operator, id: number) => setEnabled(operator, id, enabled)))
  }
}

async function importModels({ db }: Operator, file: string): Promise<Answer> {
  const models = await readModelFile(file)
  const imported = await operatorModelStore(db).import(models)
  if (imported.outcome === 'taken') {
    const { createImageModel, by } = imported
    throw new OperatorError(
      `create_image_model ${createImageModel} belongs to model version ${by}: to move it, set it to null there in the same file.`,
    )
  }
  return { json: { imported: models.length }, text: `Imported ${plural(models.length, 'model version')}.` }
}

async function listModels({ db }: Operator): Promise<Answer> {
  const models = await operatorModelStore(db).list()
  return {
    json: models.map(modelJson),
    text: table(
      ['id', 'model', 'version', 'base', 'type', 'file', 'credits', 'nsfw', 'enabled', 'create image'],
      models.map((m) => [
        ...[m.id, m.modelName, m.name, m.baseModel, m.type, m.filename],
        ...[m.creditsPerImage, m.nsfw, m.enabled, m.createImageModel],
      ]),
      'No model versions: import some with "models import FILE.json".',
    ),
  }
}

async function setEnabled({ db }: Operator, id: number, enabled: boolean): Promise<Answer> {
  if (!(await operatorModelStore(db).setEnabled(id, enabled))) {
    throw new OperatorError(`No model version has the ID ${id}: "easel models list" shows them.`)
  }
  return { json: { id, enabled }, text: `Model version ${id} is ${enabled ? 'enabled' : 'disabled'}.` }
}
