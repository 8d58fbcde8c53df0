import { operatorUserStore } from '../db/account-store.js'
import { cancelStore } from '../db/failure-store.js'
import { operatorGenerationStore } from '../db/history-store.js'
import { operatorImageStore } from '../db/image-records.js'
import { operatorWebhookStore } from '../db/webhook-endpoint-store.js'
import { cancelGeneration } from '../generation/cancel.js'
import { CANCELED } from '../generation/failure-reason.js'
import { fileImageStore } from '../images/file-image-store.js'
import { createImageStore } from '../images/open-image-store.js'
import type { Answer } from './answer.js'
import type { Operator } from './connection.js'
import { facts } from './layout.js'
import { OperatorError } from './operator-error.js'
import { requireUserOrDeleted } from './user-view.js'

const PURGED = 'The account was deleted.'
/** Files taken away at a time. */
const AT_ONCE = 8

/** Deletes first, so that nothing new can be charged, then its webhooks and what is active. Every step can be repeated. */
export async function deleteUser(
  operator: Operator,
  username: string,
  { purge = false }: { readonly purge?: boolean },
): Promise<Answer> {
  const { db } = operator
  const user = await requireUserOrDeleted(db, username)
  if (user.deletedAt && !purge) {
    throw new OperatorError(`User "${user.username}" is already deleted; --purge wipes prompts and pictures.`)
  }
  const deletedAt = await operatorUserStore(db).delete(user.id)
  await operatorWebhookStore(db).endAllOf(user.id)
  const canceled = await cancelAll(operator, user.id)
  const purged = purge ? await purgeUser(operator, user.id) : null
  return {
    json: {
      id: user.id,
      username: user.username,
      deleted_at: deletedAt,
      canceled_jobs: canceled,
      purged,
    },
    text: facts([
      ['deleted', user.username],
      ['canceled jobs', canceled.join(', ')],
      ...(purged
        ? ([
            ['prompts wiped', purged.prompts],
            ['pictures removed', purged.pictures],
          ] as const)
        : []),
    ]),
  }
}

async function cancelAll({ db, config, foundation }: Operator, userId: string): Promise<string[]> {
  const active = await operatorGenerationStore(db).activeOf(userId)
  if (active.length === 0) return []
  const { lock, queue } = await foundation()
  const images = fileImageStore({ root: config.storagePath, cdnBaseUrl: config.cdnBaseUrl })
  const ports = { cancels: cancelStore(db), lock, queue, images }
  const canceled: string[] = []
  for (const id of active) {
    if (await cancelGeneration(ports, id, CANCELED, { onlyQueued: false })) canceled.push(id)
  }
  return canceled
}

/** Rows first: from then on the pages say that the pictures are gone, even if this ends before the files are. */
async function purgeUser({ db, config }: Operator, userId: string): Promise<{ prompts: number; pictures: number }> {
  const store = operatorImageStore(db)
  const images = await createImageStore(config)
  await operatorWebhookStore(db).forgetAllOf(userId)
  const prompts = await store.wipePromptsOf(userId)
  const pictures = await store.removeAllOf(userId, PURGED)
  for await (const slugs of store.slugsOf(userId)) {
    const waiting = [...slugs]
    const remove = async () => {
      for (let slug = waiting.pop(); slug; slug = waiting.pop()) await images.remove(slug)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, remove))
  }
  return { prompts, pictures }
}
