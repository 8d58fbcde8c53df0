import type { Command } from 'commander'
import { EmptyImageStore, reconcileImages } from '../core/images/reconcile-images.js'
import { type ImageRemovals, REMOVED_IMAGE, removeImage } from '../core/images/takedown.js'
import { imageInventory, imageRemovals } from '../db/images/image-records.js'
import { createImageStore, imageStore } from '../images/open-image-store.js'
import { REASON, type ReasonOption, words } from './arguments.js'
import type { Operator, Runner } from './connection.js'
import { OperatorError } from './operator-error.js'
import { plural, table } from './output.js'

export function imageCommands(program: Command, run: Runner): void {
  const images = program.command('images').description('published images')
  images
    .command('remove')
    .description(
      'remove an image: its file is deleted, and its page says so; repeat this if the file could not be deleted',
    )
    .argument('<slug>', "the image's ID, the file's name in its URL")
    .option('--reason <text>', 'why; kept with the image', words('--reason', 500))
    .action(run(takeDown))
  images
    .command('reconcile')
    .description(
      'after a restore: find removed images whose file is back, images without a file, and files of no image',
    )
    .option('--apply', 'remove those files, and mark the images without one as removed, for good')
    .option(...REASON)
    .action(run(reconcile))
}

async function takeDown({ config, recorded }: Operator, slug: string, { reason }: ReasonOption) {
  const removals: ImageRemovals = {
    remove: (...asked) =>
      recorded(
        reason,
        (db) => imageRemovals(db).remove(...asked),
        (removed) => removed && [REMOVED_IMAGE, slug],
      ),
  }
  // Opened after the row is marked: a store that is away then only leaves the file.
  const images = { remove: async (name: string) => (await createImageStore(config)).remove(name) }
  const removed = await removeImage({ removals, images }, slug, { reason })
  if (!removed) throw new OperatorError(`No image has the ID "${slug}": it is the last part of the image's address.`)
  return { json: { slug, removed_at: removed.at, reason: removed.reason }, text: `Image ${slug} is removed.` }
}

const GONE = 'Its file was lost or removed.'
const STORE_IS_EMPTY = 'The image store is empty: check STORAGE_URL, and put the files back first.'

async function reconcile(
  { db, config, recorded }: Operator,
  { apply = false, reason }: ReasonOption & { readonly apply?: boolean },
) {
  // Before the first change: the work has many transactions, and may end amid them.
  const note = (action: string, target: string) =>
    recorded(
      reason,
      async () => undefined,
      () => [action, target],
    )
  if (apply) await note('began to reconcile images with their files', '')
  const store = apply ? await createImageStore(config) : imageStore(config)
  const ports = { inventory: imageInventory(db), removals: imageRemovals(db), store }
  const { stillThere, fileGone, unknown } = await reconcileImages(
    ports,
    apply ? { reason: reason ?? GONE } : undefined,
  ).catch((error) => {
    throw error instanceof EmptyImageStore ? new OperatorError(STORE_IS_EMPTY) : error
  })
  const total = stillThere.count + fileGone.count + unknown.count
  if (apply && total > 0) await note('reconciled images with their files', plural(total, 'image'))
  const row = (what: string, { count, examples }: typeof unknown, done: string) => {
    return { found: what, count, 'such as': examples.slice(0, 3).join(', '), done: apply && count > 0 ? done : null }
  }
  const rows = [
    row('removed images whose file is back', stillThere, 'file removed'),
    row('images without their file', fileGone, 'marked as removed'),
    row('files of no image', unknown, 'file removed'),
  ]
  const hint =
    total > 0 && !apply ? '\n\nNothing was changed: repeat the command with --apply to make these changes.' : ''
  return {
    json: { applied: apply, still_there: stillThere, file_gone: fileGone, unknown },
    text: table(rows) + hint,
  }
}
