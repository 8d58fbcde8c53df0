import { expect, it } from 'vitest'
import { imageDeletions } from '../../../src/db/gallery/deletions.js'
import { folderStore } from '../../../src/db/gallery/folders.js'
import { imagePrivacy } from '../../../src/db/images/privacy.js'
import { useDatabase } from '../../support/database.js'
import { givenImages } from '../../support/given-images.js'
import { givenUser } from '../../support/givens.js'
import { imageViolations, type KnownImage } from './own-images.js'

const context = useDatabase()

it('an image that is not as the answers had it, or whose files nobody moves, is a violation', async () => {
  const { db } = context
  const user = await givenUser(db)
  const [hidden, sorted, gone] = (await givenImages(db, user, [{}, {}, {}])) as [string, string, string]
  const folder = (await folderStore(db).create(user.id, 'Owls')) as string
  await folderStore(db).add(user.id, folder, [sorted])
  await imagePrivacy(db).set(user.id, [hidden], true)
  await imageDeletions(db).begin(user.id, [gone], 10)
  const fresh = { isPrivate: false, isDeleted: false } as const
  const known = (its: Partial<KnownImage> = {}): KnownImage => ({ ...fresh, folders: new Map(), ...its })
  const right: [string, KnownImage][] = [
    [hidden, known({ isPrivate: true })],
    [sorted, known({ folders: new Map([[folder, true]]) })],
    [gone, known({ isDeleted: true, folders: new Map([[folder, true]]) })],
  ]
  const unknown = known({ isPrivate: 'unknown', isDeleted: 'unknown', folders: new Map([[folder, 'unknown']]) })
  const wrong: [string, KnownImage][] = [
    [hidden, known({ folders: new Map([[folder, true]]) })],
    [sorted, known({ isDeleted: true })],
    [gone, known()],
    ['lost', known()],
  ]
  const postgres = await db.pool.connect()
  try {
    expect(await imageViolations(postgres, new Map(right))).toEqual([])
    expect(await imageViolations(postgres, new Map([hidden, sorted, gone].map((slug) => [slug, unknown])))).toEqual([])
    await postgres.query(`UPDATE image_moves SET due_at = now() - interval '2 minutes'`)
    expect((await imageViolations(postgres, new Map(wrong))).map(({ what }) => what)).toEqual([
      `${hidden} is private: true, though the answers had it false`,
      `${hidden} is in the folder ${folder}: false, though the answers had it true`,
      `${sorted} is deleted: false, though the answers had it true`,
      `${gone} is deleted: true, though the answers had it false`,
      'lost is lost',
      `nobody moves the files of ${hidden}`,
    ])
  } finally {
    postgres.release()
  }
})
