import { sql } from 'drizzle-orm'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { hashApiKey } from '../../../src/core/accounts/api-key.js'
import { accountStore } from '../../../src/db/accounts/accounts.js'
import { modelStore } from '../../../src/db/catalog/models.js'
import { operatorModelStore } from '../../../src/db/operator/catalog.js'
import { useDatabase } from '../../support/database.js'
import { givenUser } from '../../support/givens.js'

const context = useDatabase()
const ID = 13
const NAME = 'duchaiten'
const NEVER_SEEN = '00000000-0000-4000-8000-000000000000'

let keyHash: Buffer
beforeAll(async () => {
  keyHash = hashApiKey((await givenUser(context.db)).key)
})

/** The revision that the next request's look-up of its key reads. */
const revision = async () => (await accountStore(context.db).findCaller(keyHash))?.catalogRevision ?? null

/** Changes the catalog as nobody can: so that only memory can know what was there before. */
const changeUnseen = (change: string) =>
  context.db.orm.transaction(async (tx) => {
    await tx.execute(sql`ALTER TABLE model_versions DISABLE TRIGGER model_versions_revised`)
    await tx.execute(sql.raw(change))
    await tx.execute(sql`ALTER TABLE model_versions ENABLE ALWAYS TRIGGER model_versions_revised`)
  })
const priceUnseen = (credits: number) =>
  changeUnseen(`UPDATE model_versions SET credits_per_image = ${credits}
                 WHERE id = ${ID} OR create_image_model = '${NAME}'`)

describe('a model version', () => {
  let models: ReturnType<typeof modelStore>
  let now: string | null
  beforeEach(async () => {
    models = modelStore(context.db)
    now = await revision()
    await priceUnseen(5)
    expect(await prices(now)).toEqual([5, 5])
    await priceUnseen(6)
  })
  const prices = async (at: string | null) => [
    (await models.find(ID, at))?.creditsPerImage,
    (await models.findByCreateImageModel(NAME, at))?.creditsPerImage,
  ]

  it('is read once per revision', async () => {
    expect(await prices(now)).toEqual([5, 5])
    expect(await prices(NEVER_SEEN)).toEqual([6, 6])
    expect(await prices(now)).toEqual([6, 6])
  })

  it('is read each time if the caller knows no revision, which changes nothing for callers who know one', async () => {
    expect(await prices(null)).toEqual([6, 6])
    await priceUnseen(7)
    expect(await prices(null)).toEqual([7, 7])
    expect(await prices(now)).toEqual([5, 5])
  })

  it('is looked for again after it was not found', async () => {
    expect(await models.find(404, now)).toBeUndefined()
    await changeUnseen(`INSERT INTO model_versions (id, name, model_name, base_model, type, filename)
                        VALUES (404, 'v', 'm', 'b', 'Checkpoint', 'f')`)
    expect(await models.find(404, now)).toBeDefined()
  })
})

describe('the catalog’s revision', () => {
  const NEW = `INSERT INTO model_versions (id, name, model_name, base_model, type, filename)
               VALUES (99, 'v', 'm', 'b', 'Checkpoint', 'f')`
  const versionsOf = (ids: readonly number[]) =>
    ids.map((id) => ({ id, name: 'v', modelName: 'm', baseModel: 'b', type: 'Checkpoint', filename: 'f' }))

  it('exists before anybody has changed the catalog', async () => {
    expect(await revision()).not.toBeNull()
  })

  it.each([
    ['an update', 'UPDATE model_versions SET credits_per_image = credits_per_image + 1 WHERE id = 13'],
    ['an insert', NEW],
    ['a delete', 'DELETE FROM model_versions WHERE id = 99'],
    ['a change that replication applies', `SET LOCAL session_replication_role = replica; ${NEW}`],
    [
      'a restore, which has no search path',
      `SET LOCAL search_path = ''; DELETE FROM public.model_versions WHERE id = 99`,
    ],
    ['a truncate', 'TRUNCATE model_versions CASCADE'],
  ])('changes with %s, as soon as that is committed', async (_name, change) => {
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

  it('causes no deadlock between an import and changes of price at once', async () => {
    const catalog = operatorModelStore(context.db)
    const ids = Array.from({ length: 40 }, (_, i) => 1000 + i)
    const versions = versionsOf(ids)
    await catalog.import(versions)
    const by = { actor: 'test', reason: 'a new price' }
    for (let round = 0; round < 5; round++) {
      const prices = ids.toReversed().map((id) => catalog.setPrice(id, round, by))
      const [imported, ...set] = await Promise.all([catalog.import(versions), ...prices])
      expect(imported).toMatchObject({ outcome: 'imported' })
      expect(set).not.toContain(false)
    }
  })

  it('is written once by an import, however many versions it changes', async () => {
    const { pool } = context.db
    await pool.query(
      `CREATE TABLE written ();
       CREATE FUNCTION count_written() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN INSERT INTO written DEFAULT VALUES; RETURN NULL; END $$;
       CREATE TRIGGER written AFTER INSERT OR UPDATE ON catalog_revision FOR EACH ROW EXECUTE FUNCTION count_written()`,
    )
    await operatorModelStore(context.db).import(versionsOf([2001, 2002, 2003]))
    expect((await pool.query('SELECT FROM written')).rowCount).toBe(1)
  })
})
