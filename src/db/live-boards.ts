import { sql } from 'drizzle-orm'
import { batched } from '../batch.js'
import type { LiveBoard, PreviewBoard, ProgressBoard } from '../generation/shared-ports.js'
import type { Database } from './client.js'
import { generationPreviews, generationProgress } from './process-schema.js'
import { param, statement } from './statement.js'

/** For one-machine mode, in unlogged tables. */
function boardStatements<T>(table: typeof generationProgress | typeof generationPreviews, column: string) {
  const value = sql.identifier(column)
  return {
    set: statement(`set_${column}`)`
      INSERT INTO ${table} AS b (generation_id, attempt, ${value})
      VALUES (${param('id')}, ${param('attempt')}, ${param('value')})
      ON CONFLICT (generation_id) DO UPDATE
        SET attempt = excluded.attempt, ${value} = excluded.${value}, updated_at = now()
        WHERE b.attempt <= excluded.attempt`,
    get: statement<{ id: string; value: T }>(`get_${column}`)`
      SELECT ${table.generationId} AS id, ${value} AS value FROM ${table}
       WHERE ${table.generationId} = ANY (${param('ids')})`,
    clean: statement(`clean_${column}`)`DELETE FROM ${table} WHERE ${table.updatedAt} < now() - interval '10 minutes'`,
  }
}

const PROGRESS = boardStatements<number>(generationProgress, 'progress')
const PREVIEWS = boardStatements<Buffer>(generationPreviews, 'image')

/** Forget what was not updated for ten minutes. */
export const CLEAN_BOARDS = [PROGRESS.clean, PREVIEWS.clean]

const board = <T>({ pool }: Database, { set, get }: ReturnType<typeof boardStatements<T>>): LiveBoard<T> => ({
  set: (id, attempt, value) => set.run(pool, { id, attempt, value }),
  get: batched(async (ids: readonly string[]) => {
    const values = new Map((await get.rows(pool, { ids })).map(({ id, value }) => [id, value]))
    return ids.map((id) => values.get(id))
  }),
})

export const postgresProgressBoard = (db: Database): ProgressBoard => board(db, PROGRESS)

export const postgresPreviewBoard = (db: Database): PreviewBoard => board(db, PREVIEWS)
