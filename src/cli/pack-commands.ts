import type { Command } from 'commander'
import { importPacks, packPrices, retirePack } from '../core/operator/packs.js'
import { requireDistinct } from '../http/shared/entries.js'
import { packOfEntry, toPackEntry } from '../http/shared/pack-entry.js'
import { requirePricesOf } from '../process/required-prices.js'
import { REASON, type ReasonOption } from './arguments.js'
import type { Operator, Runner } from './connection.js'
import { readEntries } from './json-file.js'
import { plural, table } from './output.js'

export function packCommands(program: Command, run: Runner): void {
  const packs = program.command('packs').description('credits that people can buy')
  packs
    .command('import')
    .description('add packs of credits, or change those of the same name')
    .option(...REASON)
    .argument('<file>', 'a JSON array in the fields of "easel packs list --json"')
    .action(run(importFile))
  packs.command('list').description('list all packs, retired ones at the end').action(run(listPacks))
  packs
    .command('retire <name>')
    .description('sell a pack no more')
    .option(...REASON)
    .action(run(retire))
}

async function importFile({ acting, config, db }: Operator, file: string, { reason }: ReasonOption) {
  const packs = await readEntries(file, 'packs', packOfEntry)
  requireDistinct('name', packs, ({ name }) => name)
  const unchecked = await requirePricesOf(config, db, packPrices(packs))
  await importPacks(acting(reason), packs)
  return { json: { imported: packs.length }, text: `Imported ${plural(packs.length, 'pack')}.${unchecked}` }
}

async function listPacks({ stores }: Operator) {
  const packs = await stores.packs.list()
  return {
    json: packs.map(toPackEntry),
    text: table(
      packs.map(({ name, credits, price, retiredAt }) => ({ pack: name, credits, price, retired: retiredAt })),
      'No packs: import some with "easel packs import FILE.json".',
    ),
  }
}

async function retire({ acting }: Operator, name: string, { reason }: ReasonOption) {
  const retiredAt = await retirePack(acting(reason), name)
  return { json: { name, retired_at: retiredAt }, text: `Pack "${name}" is sold no more.` }
}
