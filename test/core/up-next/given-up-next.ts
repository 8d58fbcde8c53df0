/** The loop of Up next over a real Postgres, as each server has one. */
import type { ModelVersion } from '../../../src/core/catalog/model-version.js'
import { requireAvailable } from '../../../src/core/catalog/model-version.js'
import type { SubmitPorts } from '../../../src/core/generations/submit/ports.js'
import type { UpNextPorts } from '../../../src/core/up-next/submitting.js'
import { type IdeaBody, lineUp } from '../../../src/core/up-next/up-next.js'
import { websiteCaller } from '../../../src/db/accounts/sessions.js'
import { modelStore } from '../../../src/db/catalog/models.js'
import type { Database } from '../../../src/db/client.js'
import { submissionStore } from '../../../src/db/generations/submit/charged.js'
import { idempotencyStore } from '../../../src/db/generations/submit/idempotency.js'
import { upNextQueue } from '../../../src/db/up-next/queue.js'
import { upNextStore } from '../../../src/db/up-next/up-next.js'
import { generateBody } from '../../../src/http/personal-api/generations/submit-schemas.js'
import { noActiveGenerationLock } from '../../../src/redis/active-generation-lock.js'
import { noLog, noQueue } from '../../support/fake-ports.js'
import { givenSession } from '../../support/given-sign-in.js'
import { type GivenUser, givenUser, MODEL, type UserOptions } from '../../support/givens.js'

/** Of somebody who has signed in to the website. */
export async function givenPerson(db: Database, options: UserOptions = {}): Promise<GivenUser> {
  const user = await givenUser(db, options)
  await givenSession(db, user)
  return user
}

export const idea = (prompt: string, more: IdeaBody = {}): IdeaBody => ({
  prompt,
  model_version_id: MODEL.id,
  ...more,
})

export function upNextPorts(db: Database, more: Partial<SubmitPorts> = {}): UpNextPorts {
  const models = modelStore(db, undefined)
  const submits: SubmitPorts = {
    moderator: { review: async () => ({ flagged: false }) },
    refusedPrompts: { note: () => undefined },
    idempotency: idempotencyStore(db),
    queue: noQueue,
    timeLeft: async () => undefined,
    generationDeadlineSeconds: 900,
    lock: noActiveGenerationLock,
    submissions: submissionStore(db),
    ...more,
  }
  return {
    queue: upNextQueue(db),
    submits,
    websiteCaller: websiteCaller(db),
    submissionOf: (body) => {
      const { modelVersionId, ...asked } = generateBody.parse(body)
      const model = async (): Promise<ModelVersion> =>
        requireAvailable(await models.find(modelVersionId), modelVersionId)
      return { ...asked, model }
    },
    log: noLog,
  }
}

export async function drawnBy(
  db: Database,
  { id }: GivenUser,
): Promise<{ id: string; prompt: string; status: string }[]> {
  const sql = 'SELECT id, prompt, status FROM generations WHERE user_id = $1 ORDER BY created_at, seq'
  return (await db.pool.query(sql, [id])).rows
}

/** Lines it up as the website does. */
export async function givenIdea(db: Database, { id }: GivenUser, body: IdeaBody, replaced?: string): Promise<void> {
  const caller = await websiteCaller(db)(id)
  if (!caller) throw new Error('the account was deleted')
  await lineUp(upNextStore(db), caller, { ...upNextPorts(db).submissionOf(body), body }, replaced)
}
