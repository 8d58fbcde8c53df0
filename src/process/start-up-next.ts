import type { Logger } from 'pino'
import { requireAvailable } from '../core/catalog/model-version.js'
import { invalidParameter } from '../core/errors.js'
import { upNextLoop } from '../core/up-next/submitting.js'
import { websiteCaller } from '../db/accounts/sessions.js'
import { listenTo, UP_NEXT_DUE } from '../db/notifications.js'
import { upNextQueue } from '../db/up-next/queue.js'
import { generateBody } from '../http/personal-api/generations/submit-schemas.js'
import type { PersonalApiPorts } from '../http/shared/ports.js'
import type { Config } from './config.js'
import type { Foundation } from './foundation.js'

/** Wires, in one server, the submitting of what is up next. */
export function startUpNext(
  config: Config,
  log: Logger,
  { db, onNotificationsLost }: Foundation,
  ports: PersonalApiPorts,
): { stop(): Promise<void> } {
  const loop = upNextLoop({
    queue: upNextQueue(db),
    submits: ports,
    websiteCaller: websiteCaller(db),
    submissionOf: (body) => {
      const { data, error } = generateBody.safeParse(body)
      if (!data) throw invalidParameter(String(error.issues[0]?.path[0]), String(error.issues[0]?.message))
      const { modelVersionId, ...asked } = data
      const model = async () => requireAvailable(await ports.models.find(modelVersionId), modelVersionId)
      return { ...asked, model }
    },
    log,
  })
  const missed = onNotificationsLost('what is up next is submitted late')
  const notices = listenTo(config.databaseListenUrl, UP_NEXT_DUE, () => void loop.submitDue(), missed)
  loop.start()
  return {
    async stop() {
      await Promise.all([notices.close(), loop.stop()])
    },
  }
}
