import type { Command } from 'commander'
import { imageRemovals } from '../db/image-records.js'
import { removeImage } from '../generation/library/takedown.js'
import { createImageStore } from '../images/open-image-store.js'
import { words } from './arguments.js'
import type { Operator } from './connection.js'
import { OperatorError } from './operator-error.js'
import type { Answer, Runner } from './output.js'

export function imageCommands(program: Command, run: Runner): void {
  program
    .command('images')
    .description('published images')
    .command('remove')
    .description('take an image down: its file goes, its page says so; repeat it if the file could not be removed')
    .argument('<slug>', "the image's ID, the file's name in its URL")
    .option('--reason <text>', 'why; kept with the image', words('--reason', 500))
    .action(run.connected(takeDown))
}

async function takeDown(
  { db, config }: Operator,
  slug: string,
  options: { readonly reason?: string },
): Promise<Answer> {
  const removals = imageRemovals(db)
  // Opened once the row says so: a store that is away then only leaves the file.
  const images = { remove: async (name: string) => (await createImageStore(config)).remove(name) }
  const removed = await removeImage({ removals, images }, slug, { reason: options.reason })
  if (!removed) throw new OperatorError(`No image has the ID "${slug}": it is the last part of the image's address.`)
  return {
    json: { slug, removed_at: removed.at, reason: removed.reason },
    text: `Image ${slug} is removed.`,
  }
}
