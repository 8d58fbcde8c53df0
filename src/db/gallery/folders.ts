import { and, eq, isNotNull, type SQL, sql } from 'drizzle-orm'
import { FAVOURITES, type FolderStore, MAX_FOLDERS } from '../../core/gallery/folders.js'
import { changedAlsoArchived } from '../brought-back.js'
import type { Database } from '../client.js'
import { inMonthOf } from '../months.js'
import { allGenerations as g } from '../schema/generations.js'
import { folders as f, folderImages as fi, allImages as i } from '../schema/images.js'
import { violatedConstraint } from '../sql-state.js'
import { columns, queryOnce } from '../statement.js'

/** The account's folder of this ID, as it is in a condition. */
export const ownFolder = (accountId: string, id: string): SQL =>
  sql`${f.userId} = ${accountId}::uuid AND ${id === FAVOURITES ? sql`${f.name} IS NULL` : sql`${f.id} = ${id}::uuid AND ${f.name} IS NOT NULL`}`

/** Whether an image is among the favourites of its owner. OFFSET 0: otherwise Postgres reads all the favourites. */
export const isFavouriteOf = (accountId: SQL): SQL => sql`
  EXISTS (SELECT FROM ${fi} WHERE ${fi.slug} = ${i.slug} AND ${fi.folderId} =
    (SELECT ${f.id} FROM ${f} WHERE ${f.userId} = ${accountId} AND coalesce(lower(${f.name}), '') = '') OFFSET 0)`

/** The lock keeps who archives images from taking one that comes into a folder at this moment. */
const adding = (accountId: string, id: string, slugs: readonly string[]) => sql`
        WITH folder AS (SELECT ${f.id} FROM ${f} WHERE ${ownFolder(accountId, id)} FOR KEY SHARE),
        own AS (
          SELECT ${g.createdAt}, ${g.seq}, ${i.idx}, ${i.slug} FROM ${i} JOIN ${g} ON ${g.id} = ${i.generationId} AND ${inMonthOf(g, i)}
           WHERE ${i.slug} = ANY (${sql.param(slugs)}::text[]) AND ${g.userId} = ${accountId}::uuid AND ${i.removedAt} IS NULL
             FOR KEY SHARE OF ${i}),
        added AS (
          INSERT INTO ${fi} (folder_id, created_at, seq, idx, slug)
          SELECT folder.id, own.* FROM folder, own ON CONFLICT DO NOTHING)
        SELECT (SELECT count(*)::int FROM own) AS has FROM folder`

export const folderStore = (db: Database): FolderStore => {
  const { orm, pool } = db
  return {
    list: (accountId) =>
      orm
        .select({ id: f.id, name: sql<string>`${f.name}` })
        .from(f)
        .where(and(eq(f.userId, accountId), isNotNull(f.name)))
        .orderBy(sql`lower(${f.name})`),

    async create(accountId, name) {
      const named = and(eq(f.userId, accountId), isNotNull(f.name))
      if ((await orm.$count(f, named)) >= MAX_FOLDERS) return 'too_many'
      const [made] = await orm
        .insert(f)
        .values({ userId: accountId, name })
        .onConflictDoNothing()
        .returning(columns(f, 'id'))
      return made?.id ?? 'taken'
    },

    async rename(accountId, id, name) {
      try {
        const renamed = await orm.update(f).set({ name }).where(ownFolder(accountId, id)).returning(columns(f, 'id'))
        return renamed.length > 0 ? 'renamed' : 'none'
      } catch (error) {
        if (violatedConstraint(error) === 'folders_name') return 'taken'
        throw error
      }
    },

    async remove(accountId, id) {
      return (await orm.delete(f).where(ownFolder(accountId, id)).returning(columns(f, 'id'))).length > 0
    },

    async add(accountId, id, slugs) {
      if (id === FAVOURITES) await orm.insert(f).values({ userId: accountId, name: null }).onConflictDoNothing()
      const addThem = async () => (await queryOnce<{ has: number }>(pool, adding(accountId, id, slugs)))[0]?.has
      return changedAlsoArchived(db, slugs, addThem, (_, all) => all, accountId)
    },

    async take(accountId, id, slugs) {
      const [folder] = await queryOnce<{ id: string }>(
        pool,
        sql`
        WITH folder AS (SELECT ${f.id} FROM ${f} WHERE ${ownFolder(accountId, id)}),
        taken AS (DELETE FROM ${fi} USING folder
                   WHERE ${fi.folderId} = folder.id AND ${fi.slug} = ANY (${sql.param(slugs)}::text[]))
        SELECT id FROM folder`,
      )
      return folder !== undefined
    },

    async of(accountId, slug) {
      const rows = await orm
        .select({ id: sql<string>`coalesce(CASE WHEN ${f.name} IS NOT NULL THEN ${f.id}::text END, ${FAVOURITES})` })
        .from(fi)
        .innerJoin(f, eq(f.id, fi.folderId))
        .where(and(eq(fi.slug, slug), eq(f.userId, accountId)))
      return rows.map(({ id }) => id)
    },
  }
}
