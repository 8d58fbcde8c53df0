import type { Command } from 'commander'
import type { CreditPack } from '../core/billing/credit-pack.js'
import { creditPackStore } from '../db/billing/credit-packs.js'
import { packOfEntry, toPackEntry } from '../process/pack-entry.js'
import { requirePricesOf } from '../process/required-prices.js'
import { REASON, type ReasonOption } from './arguments.js'
import type { Operator, Runner } from './connection.js'
import { readEntries, requireDistinct } from './json-file.js'
import { OperatorError } from './operator-error.js'
import { plural, table } from './output.js'

export function packCommands(program: Command, run: Runner): void {
  const packs = program.command('packs').description('credits that people can buy')
  packs
    .command('import')
    .description('add packs of credits, or change those of the same name')
    .option(...REASON)
    .argument('<file>', 'a JSON array in the fields of "easel packs list --json"')
    .action(run(importPacks))
  packs.command('list').description('list all packs, retired ones at the end').action(run(listPacks))
  packs
    .command('retire <name>')
    .description('sell a pack no more')
    .option(...REASON)
    .action(run(retirePack))
}

async function importPacks({ config, recorded }: Operator, file: string, { reason }: ReasonOption) {
  const packs = await readEntries(file, 'packs', packOfEntry)
  requireDistinct('name', packs, ({ name }) => name)
  await requirePricesOf(
    config,
    packs.filter(isForSale).map(({ name, price }) => ({ name, price, every: null })),
  )
  await recorded(
    reason,
    (db) => creditPackStore(db).import(packs),
    () => [`imported ${plural(packs.length, 'credit pack')}`, ''],
  )
  return { json: { imported: packs.length }, text: `Imported ${plural(packs.length, 'pack')}.` }
}

const isForSale = ({ retiredAt }: CreditPack) => retiredAt === null

async function listPacks({ db }: Operator) {
  const packs = await creditPackStore(db).list()
  return {
    json: packs.map(toPackEntry),
    text: table(
      packs.map(({ name, credits, price, retiredAt }) => ({ pack: name, credits, price, retired: retiredAt })),
      'No packs: import some with "easel packs import FILE.json".',
    ),
  }
}

async function retirePack({ recorded }: Operator, name: string, { reason }: ReasonOption) {
  const retiredAt = await recorded(
    reason,
    (db) => creditPackStore(db).retire(name),
    (at) => at && ['retired credit pack', name],
  )
  if (!retiredAt) throw new OperatorError(`No pack "${name}": "easel packs list" shows all.`)
  return { json: { name, retired_at: retiredAt }, text: `Pack "${name}" is sold no more.` }
}
