import type { Command } from 'commander'
import type { ModelVersion } from '../core/catalog/model-version.js'
import { lowestPrice } from '../core/catalog/price.js'
import { importModels, MAX_PRICE, setEnabled, setPrice } from '../core/operator/catalog.js'
import { type ImportedVersion, sayChange, sayUnserved } from '../core/operator/imported-versions.js'
import { modelsServed } from '../core/operator/serving.js'
import { modelStore } from '../db/catalog/models.js'
import { prepareImport } from '../process/import-models.js'
import { toServedEntry } from '../process/model-entry.js'
import { type Confirm, REASON, type ReasonOption, wholeNumber } from './arguments.js'
import type { Operator, Runner } from './connection.js'
import { readModelFile } from './model-file.js'
import { OperatorError } from './operator-error.js'
import { type Answer, jsonOf, plural, table } from './output.js'

export function modelCommands(program: Command, run: Runner, confirm: Confirm): void {
  const models = program.command('models').description('the model versions that users can choose')
  models
    .command('import')
    .description('add model versions, or update those whose ID exists already')
    .option(...REASON)
    .option('--yes', 'let a version that is drawn now have what no GPU server that is up can draw')
    .argument('<file>', 'a JSON array in the fields of "easel models list --json"')
    .action(run(importFile(confirm)))
  models.command('list').description('list all model versions, disabled ones too').action(run(listModels))
  const enabling = (name: string, description: string, enabled: boolean) =>
    models
      .command(name)
      .description(description)
      .argument(...VERSION)
      .option(...REASON)
      .action(run((operator, id: number, { reason }: ReasonOption) => enable(operator, id, enabled, reason)))
  enabling('enable', 'offer a model version', true)
  enabling('disable', 'stop offering a model version; what is queued still runs', false)
  models
    .command('price')
    .description('set what an image costs, for what is submitted from now on')
    .argument(...VERSION)
    .argument('<n>', 'credits per image', wholeNumber('N', 0, MAX_PRICE))
    .option(...REASON)
    .action(run(price))
}

const VERSION = ['<id>', 'its ID', wholeNumber('ID', 1, Number.MAX_SAFE_INTEGER)] as const

type ImportOptions = ReasonOption & { readonly yes?: boolean }

const importFile =
  (confirm: Confirm) =>
  async (
    { db, acting, stores, config }: Operator,
    file: string,
    { reason, yes = false }: ImportOptions,
  ): Promise<Answer> => {
    const models = await readModelFile(file)
    const usual = () => modelStore(db, config.defaultModelVersionId).findDefault()
    const before = await usual()
    const prepared = await prepareImport(db, models)
    const versions = await importModels(acting(reason), prepared, async (unserved) => {
      const why = unserved.flatMap(reasons)
      if (yes || (await confirm(`${sayUnserved(unserved)}:\n${why.join('\n')}\nImport it all the same?`))) return
      throw new OperatorError([`${sayUnserved(unserved)}: add --yes if that is what you mean.`, ...why].join('\n'))
    })
    const [now, after] = [await stores.catalog.list(), await usual()]
    const lines = versions.flatMap((it) =>
      linesOf(
        it,
        now.find(({ id }) => id === it.id),
      ),
    )
    return {
      json: { imported: models.length, versions: versions.map((it) => jsonOf(it)) },
      text: [`Imported ${plural(models.length, 'model version')}.`, ...lines, ...newDefault(before, after)].join('\n'),
      hint: models.length > 0 ? '"easel models list" shows all, and which GPU servers draw them.' : undefined,
    }
  }

const reasons = ({ notServed }: Pick<ImportedVersion, 'notServed'>) => notServed.map((reason) => `  ${reason}`)

/** Where the import has changed it. */
function newDefault(before: ModelVersion | undefined, after: ModelVersion | undefined): string[] {
  if (before?.id === after?.id) return []
  const named = (it: ModelVersion | undefined) => (it ? `version ${it.id}, ${it.modelName} ${it.name}` : 'none')
  return [
    `The default is ${named(after)}; it was ${named(before)}. DEFAULT_MODEL_VERSION_ID or the console chooses another.`,
  ]
}

/** What became of a version, what its images cost, and whether it can be drawn. */
function linesOf(version: ImportedVersion, model: ModelVersion | undefined): string[] {
  const { id, filename, change, fields, servedBy } = version
  const changed = fields.length > 0 && change !== 'new' ? ` (changed: ${fields.join(', ')})` : ''
  const price = model
    ? [`  An image costs ${model.pricing ? 'at least ' : ''}${plural(lowestPrice(model), 'credit')}.`]
    : []
  const said = `${sayChange(change, id, filename)}${changed}`
  if (servedBy.length > 0) return [`${said}; served by ${servedBy.join(', ')}.`, ...price]
  return [`${said}; no GPU server that is up can draw it:`, ...reasons(version), ...price]
}

/** Its JSON can be imported again. */
async function listModels({ db, stores, config }: Operator) {
  const listed = await modelsServed(stores.catalog)
  const usual = await modelStore(db, config.defaultModelVersionId).findDefault()
  const lines = table(
    listed.map(({ model, servedBy }) => ({
      id: model.id,
      version: shortened(`${model.modelName} ${model.name}`, 24),
      file: shortened(model.filename, 26),
      credits: creditsOf(model),
      marks: marksOf(model, usual?.id),
      'served by': model.enabled ? shortened(serversOf(servedBy), 22) : 'off',
    })),
    'No model versions: import some with "models import FILE.json".',
  )
  const reasons = new Map<string, number[]>()
  for (const { model, notServed } of listed)
    if (model.enabled) for (const reason of notServed) reasons.set(reason, [...(reasons.get(reason) ?? []), model.id])
  const why = [...reasons].map(([reason, ids]) => `  ${ids.sort((a, b) => a - b).join(', ')}: ${reason}`)
  return {
    json: listed.map(toServedEntry),
    text: why.length > 0 ? [lines, '', 'Served by nobody:', ...why].join('\n') : lines,
  }
}

/** In a line that fits a terminal. */
const shortened = (text: string, length: number): string => {
  const letters = [...text]
  return letters.length > length ? `${letters.slice(0, length - 1).join('')}…` : text
}

/** Without the kind of server, which `--json` has. */
const serversOf = (names: readonly string[]): string => {
  const [first, ...others] = names.map((name) => name.replace(/^\w+\+https?:\/\//, ''))
  if (first === undefined) return 'nobody'
  return others.length > 0 ? `${shortened(first, 15)} and ${others.length}` : first
}

const marksOf = ({ id, nsfw }: ModelVersion, usual: number | undefined): string =>
  [id === usual && 'default', nsfw && 'NSFW'].filter(Boolean).join(' ')

/** Per image; with a formula, what it is at least. */
const creditsOf = (model: ModelVersion) => (model.pricing ? `from ${lowestPrice(model)}` : model.creditsPerImage)

async function enable({ acting }: Operator, id: number, enabled: boolean, reason: string | undefined) {
  await setEnabled(acting(reason), id, enabled)
  return { json: { id, enabled }, text: `Model version ${id} is ${enabled ? 'enabled' : 'disabled'}.` }
}

async function price({ acting }: Operator, id: number, credits: number, { reason }: ReasonOption) {
  await setPrice(acting(reason), id, credits)
  return {
    json: { id, credits_per_image: credits },
    text: `An image of model version ${id} costs ${plural(credits, 'credit')}.`,
  }
}
