import type { Command } from 'commander'
import { moveImages } from '../core/images/move-images.js'
import { EmptyImageStore, reconcileImages } from '../core/images/reconcile-images.js'
import { takeDown } from '../core/operator/images.js'
import { imageInventory, imageList } from '../db/images/image-inventory.js'
import { publishedImages } from '../db/images/published-images.js'
import { imageRemovals } from '../db/images/removals.js'
import { archiveFiles } from '../images/archive-files.js'
import { createImageStore, imageStore } from '../images/open-image-store.js'
import { isStorage } from '../images/storage.js'
import { allImageFiles, wholeImageStore } from '../process/image-files.js'
import { REASON, type ReasonOption, words } from './arguments.js'
import type { Operator, Runner } from './connection.js'
import { OperatorError, sentenceOf } from './operator-error.js'
import { facts, plural, table } from './output.js'

export function imageCommands(program: Command, run: Runner): void {
  const images = program.command('images').description('published images')
  images
    .command('remove')
    .description(
      'remove an image: its file is deleted, and its page says so; repeat this if the file could not be deleted',
    )
    .argument('<slug>', "the image's ID, the file's name in its URL")
    .option('--reason <text>', 'why; kept with the image', words('--reason', 500))
    .action(run(remove))
  images
    .command('reconcile')
    .description(
      'after a restore: find removed images whose file is back, images without a file, files of private images at public addresses, and files of no image',
    )
    .option(
      '--apply',
      'remove those files, have misplaced ones moved, and mark the images without one as removed, for good',
    )
    .option(...REASON)
    .action(run(reconcile))
}

async function remove({ acting }: Operator, slug: string, { reason }: ReasonOption) {
  const removed = await takeDown(acting(reason), slug)
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
  const store = allImageFiles(apply ? await createImageStore(config) : imageStore(config), config, db)
  const ports = { inventory: imageInventory(db), removals: imageRemovals(db), store }
  const faults: string[] = []
  const { stillThere, fileGone, misplaced, unknown, failed } = await reconcileImages(
    ports,
    apply ? { reason: reason ?? GONE } : undefined,
    (slug, error) => faults.push(`${slug}: ${sentenceOf(error)}`),
  ).catch((error) => {
    throw error instanceof EmptyImageStore ? new OperatorError(STORE_IS_EMPTY) : error
  })
  const total = stillThere.count + fileGone.count + misplaced.count + unknown.count
  if (apply && total > 0) await note('reconciled images with their files', plural(total, 'image'))
  const row = (what: string, { count, examples }: typeof unknown, done: string) => {
    return { found: what, count, 'such as': examples.slice(0, 3).join(', '), done: apply && count > 0 ? done : null }
  }
  const rows = [
    row('removed images whose file is back', stillThere, 'file removed'),
    row('images without their file', fileGone, 'marked as removed'),
    row('files where private or public ones do not belong', misplaced, 'the servers move them'),
    row('files of no image', unknown, 'file removed'),
  ]
  const hint =
    total > 0 && !apply ? '\n\nNothing was changed: repeat the command with --apply to make these changes.' : ''
  return {
    json: {
      ...{ applied: apply, still_there: stillThere, file_gone: fileGone, misplaced, unknown },
      ...(failed.count > 0 && { failed }),
    },
    text: table(rows) + hint,
    failed: failed.count > 0,
    remark:
      failed.count > 0
        ? `error: ${plural(failed.count, 'image')} could not be looked at or changed, such as ${faults[0]}`
        : undefined,
  }
}

const TELL_EVERY_MS = 5000

/** @param tell a line for whoever watches */
export function storageCommands(program: Command, run: Runner, tell: (line: string) => void): void {
  program
    .command('storage')
    .description('where images are kept')
    .command('move')
    .description('copy all images from one store to another while everything runs; repeat it after an interruption')
    .argument('<from>', 'STORAGE_OLD_URL of the running servers and workers')
    .argument('<to>', 'their STORAGE_URL')
    .action(run((operator, from: string, to: string) => move(operator, from, to, tell)))
}

async function move({ config, db }: Operator, from: string, to: string, tell: (line: string) => void) {
  const { storage, oldStorage, cdnBaseUrl } = config
  // Otherwise an image that is removed meanwhile would stay in the other store, and one that is made in this one.
  if (!oldStorage || !isStorage(oldStorage, from) || !isStorage(storage, to))
    throw new OperatorError(
      `First set STORAGE_URL=${to} and STORAGE_OLD_URL=${from}, here too, and restart all servers, then all workers.`,
    )
  const newer = { ...config, oldStorage: undefined }
  const target = allImageFiles(await createImageStore(newer), newer, db)
  const { problem, missing } = await target.check()
  for (const sentence of [problem, missing]) if (sentence) tell(sentence)
  const list = imageList(db)
  const total = await list.count()
  const ports = {
    from: wholeImageStore({ storage: oldStorage, cdnBaseUrl }, db),
    to: target,
    images: list.pages(),
    published: publishedImages(db),
    moveAgain: imageInventory(db).moveAgain,
    onFault: (slug: string, error: unknown) => tell(`${slug}: ${sentenceOf(error)}`),
  }
  let told = performance.now()
  const { counts, examples } = await moveImages(ports, (done) => {
    if (performance.now() - told < TELL_EVERY_MS) return
    told = performance.now()
    tell(`${done} of ${plural(total, 'image')} done`)
  })
  // New ones go to the newer store already.
  const archive = await db.archive?.copy(archiveFiles({ storage: oldStorage }), archiveFiles({ storage }))
  const lost = (archive?.missing ?? 0) + (archive?.failed ?? 0)
  const wrong = counts.missing + counts.different + counts.failed
  const { copied, present, ...rest } = counts
  return {
    json: { ...counts, examples, archive },
    text: facts({
      ...{ copied, 'already there': present, ...rest },
      ...(wrong > 0 && { 'such as': examples.join(', ') }),
      ...(archive && { 'files of the archive copied': archive.copied, 'files of the archive not copied': lost }),
    }),
    failed: wrong + lost > 0,
    remark:
      wrong + lost > 0
        ? `error: ${[wrong > 0 && plural(wrong, 'image'), lost > 0 && `${plural(lost, 'file')} of the archive`].filter(Boolean).join(' and ')} could not be moved: "easel audit --full" names what is wrong, and the old store is still needed.`
        : undefined,
  }
}
