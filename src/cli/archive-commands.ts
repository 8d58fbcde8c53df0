import type { Command } from 'commander'
import { giveUpFile } from '../db/archive-damage.js'
import { archiveList } from '../db/generations/archive-store.js'
import { REASON, type ReasonOption } from './arguments.js'
import type { Operator, Runner } from './connection.js'
import { OperatorError } from './operator-error.js'
import { plural, table } from './output.js'

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export function archiveCommands(program: Command, run: Runner): void {
  const archive = program.command('archive').description('months long past, in files of the image store')
  archive.command('list').description('what is in the archive, by month').action(run(list))
  archive
    .command('show')
    .description('print what the archive has of a generation, as it was in the tables, and leave it there')
    .argument('<id>', 'of the generation, or the slug of one of its images')
    .action(run(show))
  archive
    .command('bring-back')
    .description('bring a generation back to Postgres, with others of its account that are in the same file')
    .argument('<id>', 'of the generation, or the slug of one of its images')
    .action(run(bringBack))
  archive
    .command('give-up')
    .description('give up a file that is lost or damaged and in no backup: its generations are gone for good')
    .argument('<file>', 'as "easel audit --full" names it')
    .option(...REASON)
    .action(run(giveUp))
}

async function giveUp({ db, recorded }: Operator, id: string, { reason }: ReasonOption) {
  if (!UUID.test(id))
    throw new OperatorError(
      `${JSON.stringify(id)} is no file of the archive: "easel audit --full" names those that can't be read.`,
    )
  const generations =
    (await db.archive?.isUnreadable(id)) &&
    (await recorded(
      reason,
      ({ pool }) => giveUpFile(pool, id),
      (done) => (done === undefined ? undefined : ['gave up a file of the archive', id]),
    ))
  if (!generations)
    throw new OperatorError(`The archive has no file ${id} that can't be read, so there is nothing to give up.`)
  return { json: { generations }, text: `Given up: ${plural(generations, 'generation')}.` }
}

async function list({ db }: Operator) {
  const months = await archiveList(db)
  return {
    json: { months },
    text: months.length > 0 ? table(months.map((it) => ({ ...it }))) : 'The archive is empty.',
  }
}

const notThere = (id: string) =>
  new OperatorError(`The archive has nothing with the ID "${id}": "easel jobs show" finds what is in Postgres.`)

async function show({ db }: Operator, id: string) {
  const content = await db.archive?.contentOf(id)
  if (!content) throw notThere(id)
  const { images, generations, put_back_attempts } = content
  const generationId = images.find((it) => it.slug === id)?.generation_id ?? id
  const ofGeneration = (it: { readonly generation_id: string }) => it.generation_id === generationId
  const json = {
    generation: generations.find((it) => it.id === generationId),
    images: images.filter(ofGeneration),
    put_back_attempts: put_back_attempts.filter(ofGeneration),
  }
  return { json, text: JSON.stringify(json, null, 2) }
}

async function bringBack({ db }: Operator, id: string) {
  const content = await db.archive?.contentOf(id)
  if (!content || !(await db.archive?.bringBack([id]))) throw notThere(id)
  const generations = content.generations.length
  return { json: { generations }, text: `Brought back: ${plural(generations, 'generation')}.` }
}
