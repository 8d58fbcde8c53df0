import { sql } from 'drizzle-orm'
import { beforeAll, describe, expect, it } from 'vitest'
import { hashApiKey } from '../../src/account/api-key.js'
import { accountStore } from '../../src/db/account-store.js'
import { modelStore } from '../../src/db/model-store.js'
import { useDatabase } from '../support/database.js'
import { givenUser } from '../support/givens.js'

const context = useDatabase()
const ID = 13
const NAME = 'duchaiten'

let keyHash: Buffer
beforeAll(async () => {
  keyHash = hashApiKey((await givenUser(context.db)).key)
})

/** The revision that the next request's look-up of its key reads. */
const revision = async () => (await accountStore(context.db).findCaller(keyHash))?.catalogRevision ?? null

/** Changes a price as nobody can: so that only memory can know the price from before. */
const changeUnseen = (creditsPerImage: number) =>
  context.db.orm.transaction(async (tx) => {
    await tx.execute(sql`SET LOCAL session_replication_role = replica`)
    await tx.execute(sql`UPDATE model_versions SET credits_per_image = ${creditsPerImage}
                          WHERE id = ${ID} OR create_image_model = ${NAME}`)
  })

describe('a model version', () => {
  it('is read once per revision, and each time where no revision is known', async () => {
    const models = modelStore(context.db)
    const [now, later] = [await revision(), '00000000-0000-4000-8000-000000000000']
    const prices = async (at: string | null) => [
      (await models.find(ID, at))?.creditsPerImage,
      (await models.findByCreateImageModel(NAME, at))?.creditsPerImage,
    ]
    await changeUnseen(5)
    expect(await prices(now)).toEqual([5, 5])
    await changeUnseen(6)
    expect(await prices(now)).toEqual([5, 5])
    expect(await prices(null)).toEqual([6, 6])
    expect(await prices(later)).toEqual([6, 6])
  })

  it('is looked for again where none was found', async () => {
    const models = modelStore(context.db)
    const at = await revision()
    expect(await models.find(404, at)).toBeUndefined()
    await context.db.orm.transaction(async (tx) => {
      await tx.execute(sql`SET LOCAL session_replication_role = replica`)
      await tx.execute(sql`INSERT INTO model_versions (id, name, model_name, base_model, type, filename)
                           VALUES (404, 'v', 'm', 'b', 'Checkpoint', 'f')`)
    })
    expect(await models.find(404, at)).toBeDefined()
  })
})

describe('the catalog’s revision', () => {
  it.each([
    'UPDATE model_versions SET credits_per_image = credits_per_image + 1 WHERE id = 13',
    `INSERT INTO model_versions (id, name, model_name, base_model, type, filename) VALUES (99, 'v', 'm', 'b', 'Checkpoint', 'f')`,
    'DELETE FROM model_versions WHERE id = 99',
    'TRUNCATE model_versions CASCADE',
  ])('is another after %s, once that is committed', async (change) => {
    const before = await revision()
    const client = await context.db.pool.connect()
    try {
      await client.query('BEGIN')
      await client.query(change)
      expect(await revision()).toBe(before)
      await client.query('COMMIT')
    } finally {
      client.release()
    }
    expect(await revision()).not.toBe(before)
  })

  it('is unknown where it is missing, and then nothing is kept', async () => {
    await context.db.pool.query('DELETE FROM catalog_revision')
    expect(await revision()).toBeNull()
  })
})
