import { type MovedToMonths, moveToMonths } from '../../src/core/generations/move-to-months.js'
import type { Database } from '../../src/db/client.js'
import { monthStore } from '../../src/db/generations/move-to-months.js'
import { unguarded } from './unguarded.js'

/** Makes all that has ended older, with all that hangs on it. */
export async function age(db: Database, days = 100): Promise<void> {
  const earlier = (column: string) => `${column} = ${column} - interval '${days} days'`
  const ofEnded = `(SELECT id FROM generations WHERE finished_at IS NOT NULL)`
  await unguarded(
    db,
    `UPDATE images SET ${earlier('created_at')} WHERE generation_id IN ${ofEnded};
     UPDATE credit_ledger SET ${earlier('created_at')} WHERE generation_id IN ${ofEnded};
     UPDATE usage SET ${earlier('created_at')} WHERE generation_id IN ${ofEnded};
     UPDATE put_back_attempts SET ${earlier('put_back_at')} WHERE generation_id IN ${ofEnded};
     UPDATE folder_images SET ${earlier('created_at')} WHERE slug IN (SELECT slug FROM images WHERE generation_id IN ${ofEnded});
     UPDATE generations SET ${earlier('created_at')}, ${earlier('started_at')}, ${earlier('finished_at')}, ${earlier('deadline_at')}
      WHERE finished_at IS NOT NULL`,
  )
}

/** Moves what has ended for months to its months. */
export const move = (db: Database): Promise<MovedToMonths> =>
  moveToMonths(monthStore(db), 1, new AbortController().signal)
