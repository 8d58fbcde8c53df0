/** A past, and all that reads it. */
import { operatorKeyStore } from '../../../src/db/accounts/api-keys.js'
import { ledgerStore, operatorCreditStore, spendingStore } from '../../../src/db/accounts/ledger.js'
import { usageStore } from '../../../src/db/accounts/usage.js'
import type { Database } from '../../../src/db/client.js'
import { accountExports } from '../../../src/db/gallery/account-export.js'
import { EXPORTED } from '../../../src/db/gallery/exported.js'
import { folderStore } from '../../../src/db/gallery/folders.js'
import { galleryStore } from '../../../src/db/gallery/gallery.js'
import { cancelStore } from '../../../src/db/generations/end.js'
import { historyStore, operatorGenerationStore } from '../../../src/db/generations/history.js'
import { pollStore } from '../../../src/db/generations/poll.js'
import { hiddenImageRows } from '../../../src/db/images/hidden-images.js'
import { imageInventory, imageList } from '../../../src/db/images/image-inventory.js'
import { imageMoves } from '../../../src/db/images/privacy.js'
import { publishedImages } from '../../../src/db/images/published-images.js'
import { imageRemovals, operatorImageStore } from '../../../src/db/images/removals.js'
import { reportStore } from '../../../src/db/images/reports.js'
import { operatorFigures } from '../../../src/db/operator/figures.js'
import { imageReportLog } from '../../../src/db/operator/image-reports.js'
import { oversight } from '../../../src/db/operator/overview.js'
import { recentImages } from '../../../src/db/operator/recent-images.js'
import { removedImageList } from '../../../src/db/operator/removed-images.js'
import type { Easel } from '../../cli/easel.js'
import { givenProcessing, givenSucceeded } from '../../cli/given-images.js'
import { type GivenUser, givenGeneration, givenUser } from '../../support/givens.js'
import { age } from '../../support/moved-to-months.js'

const PAGE = { limit: 50, after: undefined }

export interface Given {
  readonly user: GivenUser
  readonly developer: GivenUser
  readonly succeeded: string
  readonly failed: string
  readonly kept: string
  readonly private: string
  readonly removed: string
  readonly folder: string
}
async function all<T>(pages: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const page of pages) found.push(page)
  return found
}
const YEAR = { from: '2000-01-01', to: '2100-01-01' }

/** What is read of what has ended, by what reads it. */
export const readersOf = (
  easel: Easel,
): Readonly<Record<string, (db: Database, given: Given) => Promise<unknown>>> => ({
  'a poll': (db, { user, succeeded }) => pollStore(db).findOwned(user.id, succeeded),
  'a poll of a failed one': (db, { user, failed }) => pollStore(db).findOwned(user.id, failed),
  'a poll of a stranger’s': async (db, { developer, succeeded }) => [
    await pollStore(db).findOwned(developer.id, succeeded),
  ],
  'a generation of the history': (db, { user, succeeded }) => historyStore(db).generation(user.id, succeeded),
  'the history': (db, { user }) => historyStore(db).generations(user.id, {}, PAGE),
  'a page of the history that is live': (db, { user }) =>
    historyStore(db).generations(user.id, {}, { limit: 1, after: undefined }),
  'a page of the gallery that is live': (db, { user }) =>
    galleryStore(db).images(user.id, {}, { limit: 1, after: undefined }),
  'the pages of the history': async (db, { user }) => {
    const first = await historyStore(db).generations(user.id, {}, { limit: 1, after: undefined })
    const second = await historyStore(db).generations(user.id, {}, { limit: 1, after: first.next })
    return [first, second, await historyStore(db).generations(user.id, {}, { limit: 1, after: second.next })]
  },
  'the history of a status': (db, { user }) => historyStore(db).generations(user.id, { status: 'failed' }, PAGE),
  'the gallery': (db, { user }) => galleryStore(db).images(user.id, {}, PAGE),
  'the gallery, the oldest first': (db, { user }) => galleryStore(db).images(user.id, {}, PAGE, 'oldest'),
  'a search of the gallery': (db, { user }) => galleryStore(db).images(user.id, { prompt: 'LIGHT' }, PAGE),
  'the images of a folder': (db, { user, folder }) => galleryStore(db).images(user.id, { folder }, PAGE),
  'an image of the gallery': (db, { user, kept }) => galleryStore(db).image(user.id, kept),
  'the neighbours of an image': (db, { user, kept }) => galleryStore(db).neighbours(user.id, kept),
  'the folders of an image': (db, { user, kept }) => folderStore(db).of(user.id, kept),
  'the page of an image': (db, { kept }) => publishedImages(db).find(kept),
  'the page of a private image': (db, given) => publishedImages(db).find(given.private),
  'the page of a removed image': (db, given) => publishedImages(db).find(given.removed),
  'whether images are hidden': (db, given) =>
    Promise.all([given.kept, given.private, given.removed].map((slug) => hiddenImageRows(db).isHidden(slug))),
  'images that leave': (db) => hiddenImageRows(db).leaving(),
  'whether an image is removed': (db, given) =>
    Promise.all([given.kept, given.removed].map((slug) => imageMoves(db).isRemoved(slug))),
  'the ledger': (db, { user }) => ledgerStore(db).entries(user.id, PAGE),
  'the second page of the ledger': async (db, { user }) => {
    const { next } = await ledgerStore(db).entries(user.id, { limit: 2, after: undefined })
    return ledgerStore(db).entries(user.id, { limit: 2, after: next })
  },
  'what was spent': (db, { user }) => spendingStore(db).entries(user.id, PAGE),
  'what operators see of a ledger': (db, { user }) => operatorCreditStore(db).history(user.id),
  'the usage of an account': (db, { user }) => usageStore(db).of(user.id, YEAR),
  'the usage of keys': (db, { developer }) => operatorKeyStore(db).usage(developer.id, undefined, undefined),
  'the usage of charged keys': (db, { user }) => operatorKeyStore(db).usage(user.id, undefined, undefined),
  'an export': async (db, { user, developer }) =>
    Promise.all(
      [user, developer].flatMap(({ id }) =>
        (Object.keys(EXPORTED) as (keyof typeof EXPORTED)[]).map((file) => all(accountExports(db).rows(id, file))),
      ),
    ),
  'the images of an export': (db, { user }) => all(accountExports(db).images(user.id)),
  'the jobs of all': (db) => operatorGenerationStore(db).list({ status: undefined, accountId: undefined }, PAGE),
  'the jobs of a status': (db) => operatorGenerationStore(db).list({ status: 'succeeded', accountId: undefined }, PAGE),
  'the jobs of an account': (db, { user }) =>
    operatorGenerationStore(db).list({ status: undefined, accountId: user.id }, PAGE),
  'a job': async (db, { succeeded }) => withoutMonth(await operatorGenerationStore(db).find(succeeded)),
  'the status of a job': (db, { failed }) => operatorGenerationStore(db).statusOf(failed),
  'what a job asked for': (db, { succeeded }) => oversight(db).generation(succeeded),
  'the images of all': (db) => recentImages(db).list(PAGE),
  'whose image it is': (db, { kept }) => recentImages(db).generationOf(kept),
  'removed images': (db) => removedImageList(db).list({ unfinished: false }, PAGE),
  'reported images': (db) => imageReportLog(db).list(PAGE),
  'how many images are reported': (db) => imageReportLog(db).countImages(),
  'the figures of a time': (db) => operatorFigures(db).of({ from: past(400), to: past(0) }),
  'the figures of days': (db) => operatorFigures(db).of({ from: past(110), to: past(90) }),
  'all images that are stored': async (db) => [await imageList(db).count(), await all(imageList(db).pages())],
  'all images': (db) => all(imageInventory(db).pages()),
  'files that belong to nothing': (db, { kept }) => imageInventory(db).unknownAmong([kept, 'unknown']),
  'all slugs of an account': (db, { user }) => all(operatorImageStore(db).slugsOf(user.id)),
  'an audit of everything': async () => JSON.parse((await easel.run('audit --full --json')).stdout),
})

const past = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)

/** Where a row is stored is all that changes. */
const withoutMonth = (value: unknown) =>
  JSON.parse(JSON.stringify(value, (key, it) => (key === 'month' ? undefined : it)))

/** @param days how long ago it was, but for what is of today */
export async function givenPast(easel: Easel, days: number): Promise<Given> {
  const { db } = easel
  const user = await givenUser(db)
  const developer = await givenUser(db, { developer: { concurrency: 2 } })
  const shape = { width: 8, height: 8 }
  const { id: succeeded, slugs } = await givenSucceeded(easel, user, { ...shape, batchSize: 3 })
  await givenSucceeded(easel, developer, { ...shape, batchSize: 2 })
  const { id: failed } = await givenGeneration(db, user)
  await cancelStore(db).cancel(failed, 'Canceled.', { onlyQueued: true })
  const [kept, hidden, removed] = slugs as [string, string, string]
  const folder = await folderStore(db).create(user.id, 'Best')
  await folderStore(db).add(user.id, folder, [kept, hidden])
  await db.pool.query('UPDATE images SET private = true WHERE slug = $1', [hidden])
  await imageRemovals(db).remove(removed, 'because', undefined)
  await reportStore(db).add(kept, { reason: 'likeness', note: 'mine' })
  await age(db, days)
  // Something of today, which stays live, between what has moved.
  await givenSucceeded(easel, user, { ...shape, batchSize: 1 })
  const running = await givenGeneration(db, user)
  await givenProcessing(easel, running)
  return { user, developer, succeeded, failed, kept, private: hidden, removed, folder }
}
