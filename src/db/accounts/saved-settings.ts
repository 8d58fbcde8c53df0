import { and, eq, sql } from 'drizzle-orm'
import { MAX_SAVED_SETTINGS, type SavedSettings, type SavedSettingsStore } from '../../core/accounts/saved-settings.js'
import type { Database } from '../client.js'
import { users as u } from '../schema/accounts.js'
import { savedSettings as t } from '../schema/saved-settings.js'
import { violatedConstraint } from '../sql-state.js'
import { columns, insertInto, param, selectAs, setList, statement, typedParams } from '../statement.js'

const ACCOUNT = sql`${param('accountId')}::uuid`
const THEIRS = sql`${t.userId} = ${ACCOUNT}`

// Statements: the builder would show what is in them in its errors.
const SAVE = statement('save_settings')`
  ${insertInto(t, { userId: ACCOUNT, ...typedParams(t, 'name', 'style', 'body') })}
   WHERE (SELECT count(*) FROM ${t} WHERE ${THEIRS}) < ${MAX_SAVED_SETTINGS}
     AND EXISTS (SELECT FROM ${u} WHERE ${u.id} = ${ACCOUNT} AND ${u.deletedAt} IS NULL) ON CONFLICT DO NOTHING`

const TAKEN = statement('settings_named')`
  SELECT FROM ${t} WHERE ${THEIRS} AND lower(${t.name}) = lower(${param('name')}::text)`

const REPLACE = statement('replace_settings')`
  UPDATE ${t} SET ${setList(t, typedParams(t, 'name', 'style', 'body'))}
   WHERE ${THEIRS} AND lower(${t.name}) = lower(${param('name')}::text)`

const FIND = statement<SavedSettings>('find_settings')`
  SELECT ${selectAs(columns(t, 'id', 'name', 'style', 'body'))} FROM ${t}
   WHERE ${THEIRS} AND ${t.id} = ${param('id')}::uuid`

export const savedSettingsStore = ({ orm, pool }: Database): SavedSettingsStore => ({
  list: (accountId) =>
    orm
      .select(columns(t, 'id', 'name'))
      .from(t)
      .where(eq(t.userId, accountId))
      .orderBy(sql`lower(${t.name})`),

  find: (accountId, id) => FIND.first(pool, { accountId, id }),

  async save(accountId, { body, ...named }) {
    const values = { ...named, accountId, body: JSON.stringify(body) }
    if ((await SAVE.count(pool, values)) > 0) return 'saved'
    return (await TAKEN.count(pool, values)) > 0 ? 'taken' : 'too_many'
  },

  replace: async (accountId, { body, ...named }) =>
    (await REPLACE.count(pool, { ...named, accountId, body: JSON.stringify(body) })) > 0,

  async rename(accountId, id, name) {
    try {
      const own = and(eq(t.id, id), eq(t.userId, accountId))
      const { rowCount } = await orm.update(t).set({ name }).where(own)
      return rowCount === 1 ? 'renamed' : 'none'
    } catch (error) {
      if (violatedConstraint(error) === 'saved_settings_name') return 'taken'
      throw error
    }
  },

  async remove(accountId, id) {
    const { rowCount } = await orm.delete(t).where(and(eq(t.id, id), eq(t.userId, accountId)))
    return rowCount === 1
  },
})
