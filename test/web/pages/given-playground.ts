/** What the tests of the playground share: over HTTP, and in a browser. */
import { onTestFinished } from 'vitest'
import { postgresPreviewBoard, postgresProgressBoard } from '../../../src/db/generations/live-boards.js'
import { redisPreviewBoard, redisProgressBoard } from '../../../src/redis/live-boards.js'
import { givenSession } from '../../support/given-sign-in.js'
import { type GivenUser, givenUser, type UserOptions } from '../../support/givens.js'
import type { Service } from '../../support/service.js'
import { redisAvailable } from '../../support/services.js'
import { openRedis } from '../../support/test-redis.js'

export const HOSTILE = `</textarea><script>alert(1)</script>\n"it's" <b>$HOME \`id\`\\ & \u202Edlrow`

/** Where a worker of this service shows progress and previews. */
export async function boardsOf({ db, namespace }: Service) {
  if (!redisAvailable) return { progress: postgresProgressBoard(db), previews: postgresPreviewBoard(db) }
  const redis = await openRedis()
  onTestFinished(() => redis.disconnect())
  return { progress: redisProgressBoard(redis, namespace), previews: redisPreviewBoard(redis, namespace) }
}

export async function signedIn({ db }: Service, options: UserOptions = {}) {
  const user = await givenUser(db, options)
  return { user, cookie: await givenSession(db, user) }
}

/** Of the user's generation that waits or is drawn. */
export async function activeOf({ db }: Service, { id }: GivenUser) {
  const { rows } = await db.pool.query(
    `SELECT id, prompt, width, height, batch_size, steps, negative_prompt, seed, lane, model_version_id FROM generations
      WHERE user_id = $1 AND status IN ('queued', 'processing')`,
    [id],
  )
  return rows[0]
}

/** Nothing is left for the next test's worker to claim. */
export const endAll = ({ db }: Service) =>
  db.pool.query(
    `UPDATE generations SET status = 'failed', error = 'x', finished_at = now() WHERE status IN ('queued', 'processing')`,
  )
