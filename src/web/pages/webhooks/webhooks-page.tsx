import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { SignedIn } from '../../../core/accounts/session.js'
import { AppError, invalidParameter } from '../../../core/errors.js'
import * as webhooks from '../../../core/webhooks/endpoints.js'
import { MAX_ENDPOINTS, WEBHOOK_EVENTS, type WebhookEndpoint } from '../../../core/webhooks/webhook.js'
import { webhookBody } from '../../../http/personal-api/webhooks/webhook-routes.js'
import type { App } from '../../../http/shared/fastify-app.js'
import * as field from '../../../http/shared/fields.js'
import type { Cursor } from '../../../lib/page.js'
import { Layout, sendFragment, sendPage } from '../../parts/layout.js'
import { Cell, Field, Notices } from '../../parts/page-parts.js'
import { Moment } from '../../parts/text.js'
import { isFragment, refusalMessage } from '../../shared/answers.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { noSuchPage, sessionOf } from '../../shared/session-cookie.js'
import { useTexts } from '../../texts/texts.js'
import { Deliveries, EndpointPage, EndpointStatus, NewSecret } from './endpoint-page.js'

interface WebhooksView {
  readonly signedIn: SignedIn
  readonly endpoints: readonly WebhookEndpoint[]
  /** Of the endpoint that was added just now: shown this once. */
  readonly secret?: string | undefined
  readonly done?: string | undefined
  /** Why none was added, and what was typed. */
  readonly problem?: string | undefined
  readonly asked?: AskedEndpoint | undefined
}

interface AskedEndpoint {
  readonly url: string
  readonly description: string
  readonly events: readonly string[]
}

/** The account's webhook endpoints: add, and see which there are. */
const WebhooksPage = (view: WebhooksView) => {
  const { webhooks: words } = useTexts()
  return (
    <Layout title={words.title} signedIn={view.signedIn} path="/webhooks" class="column" style="account.css" live>
      <div class="stack heading">
        <h1>{words.title}</h1>
        <p class="lead">
          {words.lead(
            (text) => (
              <a href="/keys">{text}</a>
            ),
            (text) => (
              <a href="/docs">{text}</a>
            ),
          )}
        </p>
      </div>
      <Webhooks {...view} />
    </Layout>
  )
}

/** What changes when an endpoint is added. */
const Webhooks = ({ endpoints, secret, done, problem, asked }: WebhooksView) => {
  const { webhooks: words } = useTexts()
  return (
    <div id="webhooks" class="stack">
      {secret && <NewSecret secret={secret} />}
      <Notices done={done} />
      <div class="card">
        <h2>{words.yours}</h2>
        {endpoints.length === 0 ? (
          <p class="empty">{words.none}</p>
        ) : (
          <section class="scroll" tabindex={0} aria-label={words.yours}>
            <table class="stacking">
              <thead>
                <tr>
                  <th>{words.url}</th>
                  <th>{words.events}</th>
                  <th>{words.added}</th>
                  <th>{words.status}</th>
                </tr>
              </thead>
              <tbody>
                {endpoints.map((endpoint) => (
                  <tr key={endpoint.id}>
                    <td class="first">
                      <a href={`/webhooks/${endpoint.id}`}>
                        <bdi>{endpoint.url}</bdi>
                      </a>
                      {endpoint.description && (
                        <span class="reason small quiet">
                          <bdi>{endpoint.description}</bdi>
                        </span>
                      )}
                    </td>
                    <Cell label={words.events}>
                      {endpoint.events.length === WEBHOOK_EVENTS.length ? words.all : endpoint.events.join(', ')}
                    </Cell>
                    <Cell label={words.added}>
                      <Moment at={endpoint.createdAt} only="date" />
                    </Cell>
                    <Cell label={words.status}>
                      <EndpointStatus of={endpoint} />
                    </Cell>
                  </tr>
                ))}
              </tbody>
            </table>
          </section>
        )}
      </div>
      {endpoints.length < MAX_ENDPOINTS ? (
        <AddForm {...{ asked, problem }} />
      ) : (
        <p class="hint">{words.most(MAX_ENDPOINTS)}</p>
      )}
    </div>
  )
}

const AddForm = ({ asked, problem }: Pick<WebhooksView, 'asked' | 'problem'>) => {
  const { webhooks } = useTexts()
  const { add: words } = webhooks
  return (
    <form
      class="card stack"
      method="post"
      action="/webhooks"
      hx-post="/webhooks"
      hx-target="#webhooks"
      hx-swap="outerHTML"
      aria-labelledby="add"
    >
      <h2 id="add">{words.title}</h2>
      <Notices problem={problem} />
      <Field
        id="url"
        label={webhooks.url}
        type="text"
        inputmode="url"
        value={asked?.url}
        placeholder="https://example.com/easel"
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        autofocus={problem !== undefined}
        required
      />
      <Field id="description" label={words.description} value={asked?.description} autocomplete="off" />
      <fieldset class="stack events">
        <legend>{words.when}</legend>
        {WEBHOOK_EVENTS.map((event) => (
          <div key={event} class="check">
            <input
              id={event}
              type="checkbox"
              name="events"
              value={event}
              checked={asked?.events.includes(event) ?? true}
            />
            <label for={event}>
              {words.eventNames[event]} <code class="quiet">{event}</code>
            </label>
          </div>
        ))}
      </fieldset>
      <div>
        <button class="primary" type="submit">
          {words.submit}
        </button>
      </div>
    </form>
  )
}

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
