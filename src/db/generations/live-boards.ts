import { sql } from 'drizzle-orm'
import type { LiveBoard } from '../../core/generations/ports.js'
import { batched } from '../../lib/batch.js'
import type { Database } from '../client.js'
import { generationPreviews, generationProgress } from '../schema/generations.js'
import { param, statement } from '../statement.js'

/** For one-machine mode, in an unlogged table. */
function boardIn<T>(table: typeof generationProgress | typeof generationPreviews, column: string) {
  const value = sql.identifier(column)
  const set = statement(`set_${column}`)`
    INSERT INTO ${table} AS b (generation_id, attempt, ${value})
    VALUES (${param('id')}, ${param('attempt')}, ${param('value')})
    ON CONFLICT (generation_id) DO UPDATE
      SET attempt = excluded.attempt, ${value} = excluded.${value}, updated_at = now()
      WHERE b.attempt <= excluded.attempt`
  const get = statement<{ id: string; value: T }>(`get_${column}`)`
    SELECT ${table.generationId} AS id, ${value} AS value FROM ${table}
     WHERE ${table.generationId} = ANY (${param('ids')})`
  return {
    open: ({ pool }: Database): LiveBoard<T> => ({
      set: (id, attempt, value) => set.run(pool, { id, attempt, value }),
      get: batched(async (ids: readonly string[]) => {
        const values = new Map((await get.rows(pool, { ids })).map(({ id, value }) => [id, value]))
        return ids.map((id) => values.get(id))
      }),
    }),
    clean: statement(`clean_${column}`)`DELETE FROM ${table} WHERE ${table.updatedAt} < now() - interval '10 minutes'`,
  }
}

const PROGRESS = boardIn<number>(generationProgress, 'progress')
const PREVIEWS = boardIn<Buffer>(generationPreviews, 'image')

export const postgresProgressBoard = PROGRESS.open
export const postgresPreviewBoard = PREVIEWS.open

/** Forget what was not updated for ten minutes. */
export const CLEAN_BOARDS = [PROGRESS.clean, PREVIEWS.clean]
