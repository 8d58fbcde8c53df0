import type { Command } from 'commander'
import { moveImages } from '../core/images/move-images.js'
import { imageList, publishedImages } from '../db/images/image-records.js'
import { createImageStore, imageStore } from '../images/open-image-store.js'
import { isStorage } from '../images/storage.js'
import type { Operator, Runner } from './connection.js'
import { OperatorError, sentenceOf } from './operator-error.js'
import { facts, plural } from './output.js'

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
  const target = await createImageStore({ ...config, oldStorage: undefined })
  const { problem, missing } = await target.check()
  for (const sentence of [problem, missing]) if (sentence) tell(sentence)
  const list = imageList(db)
  const total = await list.count()
  const ports = {
    from: imageStore({ storage: oldStorage, cdnBaseUrl }),
    to: target,
    images: list.pages(),
    published: publishedImages(db),
    onFault: (slug: string, error: unknown) => tell(`${slug}: ${sentenceOf(error)}`),
  }
  let told = performance.now()
  const { counts, examples } = await moveImages(ports, (done) => {
    if (performance.now() - told < TELL_EVERY_MS) return
    told = performance.now()
    tell(`${done} of ${plural(total, 'image')} done`)
  })
  const wrong = counts.missing + counts.different + counts.failed
  const { copied, present, ...rest } = counts
  return {
    json: { ...counts, examples },
    text: facts({ copied, 'already there': present, ...rest, ...(wrong > 0 && { 'such as': examples.join(', ') }) }),
    failed: wrong > 0,
    remark:
      wrong > 0
        ? `error: ${plural(wrong, 'image')} could not be moved: "easel audit --full" names what is wrong, and the old store is still needed.`
        : undefined,
  }
}
