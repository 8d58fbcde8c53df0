import type { Command } from 'commander'
import { operatorPictureStore } from '../db/operator-picture-store.js'
import { SLUG } from '../generation/generation.js'
import { createImageStore } from '../images/create-image-store.js'
import type { Answer, Runner } from './answer.js'
import { words } from './arguments.js'
import type { Operator } from './connection.js'
import { OperatorError } from './operator-error.js'

export function imageCommands(program: Command, run: Runner): void {
  program
    .command('images')
    .description('published pictures')
    .command('remove')
    .description('take a picture down: its file goes, its page says so; repeat it if the file could not be removed')
    .argument('<slug>', "the picture's ID, the file's name in its URL")
    .option('--reason <text>', 'why; kept with the picture', words('--reason', 500))
    .action(run.connected(removeImage))
}

async function removeImage(
  { db, config }: Operator,
  slug: string,
  options: { readonly reason?: string },
): Promise<Answer> {
  // The row first: its page says 410 from then on, even if the file's removal has to be repeated.
  const removed = SLUG.test(slug) ? await operatorPictureStore(db).remove(slug, options.reason) : undefined
  if (!removed)
    throw new OperatorError(`No picture has the ID "${slug}": it is the last part of the picture's address.`)
  const images = await createImageStore(config)
  await images.remove(slug)
  return {
    json: { slug, removed_at: removed.at, reason: removed.reason },
    text: `Picture ${slug} is removed.`,
  }
}
