import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { AppError, invalidParameter } from '../../../core/errors.js'
import * as webhooks from '../../../core/webhooks/endpoints.js'
import { webhookBody } from '../../../http/personal-api/webhooks/webhook-schemas.js'
import type { App } from '../../../http/shared/fastify-app.js'
import * as field from '../../../http/shared/fields.js'
import type { Cursor } from '../../../lib/page.js'
import { sendFragment, sendPage } from '../../parts/layout.js'
import { isFragment } from '../../shared/fragment.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { refusalMessage } from '../../shared/refusal.js'
import { noSuchPage, sessionOf } from '../../shared/session-cookie.js'
import { Deliveries, EndpointPage } from './endpoint-page.js'
import { Webhooks, WebhooksPage, type WebhooksView } from './webhooks-page.js'

const DELIVERIES_PAGE = 20

const params = z.object({ id: z.string() })
const query = z.object({ cursor: field.page(1).cursor.catch(undefined) })
/** As a form sends it: one event is no list. What it must be, the API's own schema says. */
const typed = z.object({
  url: z.string().catch(''),
  description: z.string().catch(''),
  events: z.union([z.array(z.string()), z.string().transform((event) => [event])]).catch([]),
})

function refused({ issues: [issue] }: z.ZodError): AppError {
  const message = issue?.path[0] === 'events' ? 'Choose one or more events.' : issue?.message
  return invalidParameter('body', message ?? 'Check the form.')
}

/** Your webhook endpoints, with the functions of the API. */
export function webhookPageRoutes(app: App, { ports }: WebsiteOptions): void {
  const { endpoints } = ports.webhooks

  const showAll = async (
    request: FastifyRequest,
    reply: FastifyReply,
    news: Pick<WebhooksView, 'secret' | 'done' | 'problem' | 'asked'>,
  ) => {
    const signedIn = sessionOf(request)
    const view = { ...news, signedIn, endpoints: await endpoints.list(signedIn.caller.account.id) }
    return isFragment(request)
      ? sendFragment(reply, <Webhooks {...view} />)
      : sendPage(reply, <WebhooksPage {...view} />)
  }

  const deliveriesOf = async ({ caller }: FastifyRequest, id: string, after: Cursor | undefined) => {
    const endpoint = await webhooks.findEndpoint(ports.webhooks, caller.account, id).catch(toPage)
    const { items, next } = await endpoints.deliveries(id, { limit: DELIVERIES_PAGE, after })
    return { endpoint, deliveries: items, older: field.cursorOf(next), later: after !== undefined }
  }

  app.get('/webhooks', (request, reply) => showAll(request, reply, {}))

  app.post('/webhooks', { schema: { body: typed } }, async (request, reply) => {
    const { body: asked } = request
    try {
      const parsed = webhookBody.safeParse(asked)
      if (!parsed.success) throw refused(parsed.error)
      const { secret } = await webhooks.createEndpoint(ports.webhooks, request.caller.account, parsed.data)
      return showAll(request, reply, { secret })
    } catch (error) {
      return showAll(request, reply, { problem: refusalMessage(error, reply), asked })
    }
  })

  app.get('/webhooks/:id', { schema: { params, querystring: query } }, async (request, reply) => {
    const view = await deliveriesOf(request, request.params.id, request.query.cursor)
    return sendPage(reply, <EndpointPage {...view} signedIn={sessionOf(request)} />)
  })

  app.get('/webhooks/:id/deliveries', { schema: { params } }, async (request, reply) =>
    sendFragment(reply, <Deliveries {...(await deliveriesOf(request, request.params.id, undefined))} />),
  )

  app.post('/webhooks/:id/test', { schema: { params } }, async (request, reply) => {
    const { id } = request.params
    await webhooks.testEndpoint(ports.webhooks, request.caller.account, id).catch(toPage)
    return reply.redirect(`/webhooks/${id}`, 303)
  })

  app.post('/webhooks/:id/rotate-secret', { schema: { params } }, async (request, reply) => {
    const { id } = request.params
    const { secret } = await webhooks.rotateSecret(ports.webhooks, request.caller.account, id).catch(toPage)
    const view = await deliveriesOf(request, id, undefined)
    return sendPage(reply, <EndpointPage {...view} signedIn={sessionOf(request)} secret={secret} />)
  })

  app.post('/webhooks/:id/delete', { schema: { params } }, async (request, reply) => {
    await webhooks.removeEndpoint(ports.webhooks, request.caller.account, request.params.id).catch(toPage)
    return reply.redirect('/webhooks', 303)
  })
}

/** The API's own sentence names its paths. */
function toPage(error: unknown): never {
  throw error instanceof AppError && error.code === 'not_found' ? noSuchPage() : error
}
