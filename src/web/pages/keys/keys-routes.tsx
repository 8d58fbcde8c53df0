import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { createOwnKey, renameOwnKey, revokeOwnKey } from '../../../core/accounts/own-keys.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { sendFragment, sendPage } from '../../parts/layout.js'
import { isFragment } from '../../shared/fragment.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { refusalMessage } from '../../shared/refusal.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { Keys, KeysPage, type KeysView } from './keys-page.js'

const body = z.object({ name: z.string().catch('') })
const params = z.object({ id: z.string() })

/** Your keys. Each act answers with the list as it is then: as a part of the page for htmx, else as the page. */
export function keyRoutes(app: App, { ports, keyPrefix, baseUrl }: WebsiteOptions): void {
  const { ownKeys } = ports
  type News = Pick<KeysView, 'created' | 'done' | 'problem' | 'name'>

  const show = async (request: FastifyRequest, reply: FastifyReply, news: News) => {
    const signedIn = sessionOf(request)
    const view = { ...news, signedIn, keyPrefix, baseUrl, keys: await ownKeys.list(signedIn.caller.account.id) }
    return isFragment(request) ? sendFragment(reply, <Keys {...view} />) : sendPage(reply, <KeysPage {...view} />)
  }

  /** Does it and shows what came of it; a refusal beside what was typed. */
  const act = async (request: FastifyRequest, reply: FastifyReply, work: () => Promise<News>, name?: string) => {
    const news = await work().catch((error: unknown): News => ({ problem: refusalMessage(error, reply), name }))
    return show(request, reply, news)
  }

  app.get('/keys', (request, reply) => show(request, reply, {}))

  app.post('/keys', { schema: { body } }, (request, reply) => {
    const { name } = request.body
    const create = async () => ({ created: await createOwnKey(ownKeys, request.caller.account, name, keyPrefix) })
    return act(request, reply, create, name)
  })

  app.post('/keys/:id/rename', { schema: { params, body } }, (request, reply) =>
    act(request, reply, async () => {
      await renameOwnKey(ownKeys, request.caller.account, request.params.id, request.body.name)
      return { done: 'The key has its new name.' }
    }),
  )

  app.post('/keys/:id/revoke', { schema: { params } }, (request, reply) =>
    act(request, reply, async () => {
      await revokeOwnKey(ownKeys, request.caller.account, request.params.id)
      // Whoever restores an older database has to revoke it again.
      request.log.info({ keyId: request.params.id }, 'key revoked')
      return { done: 'The key is revoked. It works nowhere any more.' }
    }),
  )
}
