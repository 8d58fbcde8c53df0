import type { Database } from './client.js'

/** Small enough for one statement's time limit, however much a user has. */
const PAGE = 1000

// $1: the user; $2: the last place of the page before. What is done already counts too, or a page might look for its
// rows among millions.
const ENDED = `ended AS MATERIALIZED (
  SELECT id, seq, slugs FROM generations
   WHERE user_id = $1 AND seq > $2 AND status IN ('succeeded', 'failed') ORDER BY seq LIMIT ${PAGE})`

const WIPE_PROMPTS = `
  WITH ${ENDED}, wiped AS (
    UPDATE generations g SET prompt = '', negative_prompt = '', webhook_url = NULL FROM ended
     WHERE g.id = ended.id AND (g.prompt <> '' OR g.negative_prompt <> '') RETURNING g.id
  )
  SELECT (SELECT count(*) FROM wiped) AS done, (SELECT max(seq) FROM ended) AS last`

const REMOVE_PICTURES = `
  WITH ${ENDED}, removed AS (
    UPDATE images i SET removed_at = now(), removed_reason = $3 FROM ended
     WHERE i.generation_id = ended.id AND i.removed_at IS NULL RETURNING i.slug
  )
  SELECT (SELECT count(*) FROM removed) AS done, (SELECT max(seq) FROM ended) AS last`

/** What was generated, taken back: rows only, the files are the image store's. */
export const operatorPictureStore = ({ pool }: Database) => {
  /** Does it page by page, in the queue's order; resolves to how many rows were changed. */
  const inPages = async (text: string, userId: string, ...values: unknown[]): Promise<number> => {
    for (let after = 0, total = 0; ; ) {
      const { rows } = await pool.query<{ done: number; last: number | null }>(text, [userId, after, ...values])
      const { done = 0, last = null } = rows[0] ?? {}
      total += done
      if (last === null) return total
      after = last
    }
  }

  return {
    removeAllOf: (userId: string, reason: string): Promise<number> => inPages(REMOVE_PICTURES, userId, reason),

    /** Of generations that have ended; resolves to how many that were. */
    wipePromptsOf: (userId: string): Promise<number> => inPages(WIPE_PROMPTS, userId),

    /** Every name under which a file of the user's may lie, in pages: a failed generation can have left some too. */
    async *slugsOf(userId: string): AsyncGenerator<string[]> {
      for (let after = 0; ; ) {
        const { rows } = await pool.query<{ seq: number; slugs: string[] }>(
          `WITH ${ENDED} SELECT seq, slugs FROM ended ORDER BY seq`,
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
