import type { Database } from './client.js'

/** Small enough for one statement's time limit, however much a user has. */
const PAGE = 1000

const WIPE_PROMPTS = `
  UPDATE generations SET prompt = '', negative_prompt = '', webhook_url = NULL WHERE id = ANY (ARRAY(
    SELECT id FROM generations
     WHERE user_id = $1 AND status IN ('succeeded', 'failed') AND (prompt <> '' OR negative_prompt <> '') LIMIT ${PAGE}))`

const REMOVE_PICTURES = `
  UPDATE images SET removed_at = now(), removed_reason = $2 WHERE slug = ANY (ARRAY(
    SELECT i.slug FROM generations g JOIN images i ON i.generation_id = g.id
     WHERE g.user_id = $1 AND i.removed_at IS NULL LIMIT ${PAGE}))`

/** What was generated, taken back: rows only, the files are the image store's. */
export const operatorPictureStore = ({ pool }: Database) => {
  const repeated = async (text: string, values: unknown[]): Promise<number> => {
    for (let total = 0; ; ) {
      const rowCount = (await pool.query(text, values)).rowCount ?? 0
      total += rowCount
      if (rowCount < PAGE) return total
    }
  }

  return {
    removeAllOf: (userId: string, reason: string): Promise<number> => repeated(REMOVE_PICTURES, [userId, reason]),

    /** Of generations that have ended; resolves to how many that were. */
    wipePromptsOf: (userId: string): Promise<number> => repeated(WIPE_PROMPTS, [userId]),

    /** Every name under which a file of the user's may lie, in pages: a failed generation can have left some too. */
    async *slugsOf(userId: string): AsyncGenerator<string[]> {
      for (let after = 0; ; ) {
        const { rows } = await pool.query<{ seq: number; slugs: string[] }>(
          `SELECT seq, slugs FROM generations
            WHERE user_id = $1 AND seq > $2 AND status IN ('succeeded', 'failed') ORDER BY seq LIMIT ${PAGE}`,
          [userId, after],
        )
        const last = rows.at(-1)
        if (!last) return
        after = last.seq
        yield rows.flatMap(({ slugs }) => slugs)
      }
    },
  }
}
