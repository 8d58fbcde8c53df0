import { bringBackWhatCanBe } from '../db/brought-back.js'
import type { Database } from '../db/client.js'
import { operatorImageStore } from '../db/images/removals.js'
import { administration } from '../db/operator/administration.js'
import { operatorWebhookStore } from '../db/webhooks/endpoints.js'
import { createImageStore } from '../images/open-image-store.js'
import type { Config } from './config.js'
import { allImageFiles } from './image-files.js'

/** Files removed at a time. */
const AT_ONCE = 8
/** Files that could not be removed, one after the other: more, and it is the store that is away. */
const FAILED_IN_A_ROW = 20

/**
 * Wipes what a deleted account left: its prompts, images and folders, and who it was. Can be repeated.
 * @throws once all else is wiped: what a file of the archive or of an image says that cannot be read or removed; at once, when the store is away
 */
export const purgeOf = (db: Database, config: Config) => async (accountId: string) => {
  const faults = (await bringBackWhatCanBe(db, accountId)).map(
    (id) =>
      new Error(
        `The archive's file ${id} can't be read: "easel audit --full" names it, and docs/operators.md what to do.`,
      ),
  )
  const store = operatorImageStore(db)
  const files = allImageFiles(await createImageStore(config), config, db)
  await operatorWebhookStore(db).forgetAllOf(accountId)
  await administration(db).accounts.forget(accountId)
  const prompts = await store.wipePromptsOf(accountId)
  await store.removeFoldersOf(accountId)
  // Rows first: from then on the pages say that the images are gone, even if this ends before the files are.
  const images = await store.removeAllOf(accountId, 'The account was deleted.')
  let failedInARow = 0
  const removeOne = async (slug: string) => {
    try {
      await files.remove(slug)
      failedInARow = 0
    } catch (error) {
      if (++failedInARow >= FAILED_IN_A_ROW) throw error
      faults.push(error as Error)
    }
  }
  for await (const slugs of store.slugsOf(accountId)) {
    const waiting = slugs.values()
    const remove = async () => {
      for (const slug of waiting) await removeOne(slug)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, remove))
  }
  const [first] = faults
  if (first) throw first
  return { prompts, images }
}
