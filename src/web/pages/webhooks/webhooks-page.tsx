import type { SignedIn } from '../../../core/accounts/session.js'
import { MAX_ENDPOINTS, WEBHOOK_EVENTS, type WebhookEndpoint } from '../../../core/webhooks/webhook.js'
import { SecretField } from '../../parts/account-fields.js'
import { Layout } from '../../parts/layout.js'
import { Cell } from '../../parts/lists.js'
import { Notices } from '../../parts/notices.js'
import { Moment } from '../../parts/text.js'

export interface WebhooksView {
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
export const WebhooksPage = (view: WebhooksView) => (
  <Layout title="Webhooks" signedIn={view.signedIn} path="/webhooks" class="column" style="account.css" live>
    <div class="stack heading">
      <h1>Webhooks</h1>
      <p class="lead">
        Your server is told when a generation ends, instead of asking: of those made with a <a href="/keys">key</a>, and
        of those made here. <a href="/docs">Read how to verify an event</a>.
      </p>
    </div>
    <Webhooks {...view} />
  </Layout>
)

/** What changes when an endpoint is added. */
export const Webhooks = ({ endpoints, secret, done, problem, asked }: WebhooksView) => (
  <div id="webhooks" class="stack">
    {secret && <NewSecret secret={secret} />}
    <Notices done={done} />
    <div class="card">
      <h2>Your webhooks</h2>
      {endpoints.length === 0 ? (
        <p class="empty">No webhooks yet. Add the first one below.</p>
      ) : (
        <section class="scroll" tabindex={0} aria-label="Your webhooks">
          <table class="stacking">
            <thead>
              <tr>
                <th>URL</th>
                <th>Events</th>
                <th>Added</th>
                <th>Status</th>
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
                  <Cell label="Events">
                    {endpoint.events.length === WEBHOOK_EVENTS.length ? 'All' : endpoint.events.join(', ')}
                  </Cell>
                  <Cell label="Added">
                    <Moment at={endpoint.createdAt} only="date" />
                  </Cell>
                  <Cell label="Status">
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
      <p class="hint">You have {MAX_ENDPOINTS} webhooks, the most there may be. Delete one to add another.</p>
    )}
  </div>
)

export const EndpointStatus = ({ of: { disabledReason, pausedUntil } }: { of: WebhookEndpoint }) => {
  if (disabledReason !== null) return <span class="badge bad">disabled</span>
  return pausedUntil ? <span class="badge">paused</span> : <span class="badge good">enabled</span>
}

/** The secret of an endpoint, this once. */
export const NewSecret = ({ secret }: { secret: string }) => (
  <section class="card new-secret" aria-labelledby="new-secret">
    <h2 id="new-secret">Copy the secret now</h2>
    <p>It is shown this once. With it your server verifies that an event comes from here.</p>
    <SecretField id="secret" label="Signing secret" value={secret} />
  </section>
)

const EVENT_WORDS = {
  'generation.succeeded': 'an image of the Personal Access API, or of this site, is ready',
  'generation.failed': 'a generation has failed',
  'image.completed': 'an image of Create Image is ready',
} as const

const AddForm = ({ asked, problem }: Pick<WebhooksView, 'asked' | 'problem'>) => (
  <form
    class="card stack"
    method="post"
    action="/webhooks"
    hx-post="/webhooks"
    hx-target="#webhooks"
    hx-swap="outerHTML"
    aria-labelledby="add"
  >
    <h2 id="add">Add a webhook</h2>
    <Notices problem={problem} />
    <div class="field">
      <label for="url">URL</label>
      <input
        id="url"
        name="url"
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
    </div>
    <div class="field">
      <label for="description">Description (optional)</label>
      <input id="description" name="description" value={asked?.description} autocomplete="off" />
    </div>
    <fieldset class="stack events">
      <legend>Send an event when</legend>
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
            {EVENT_WORDS[event]} <code class="quiet">{event}</code>
          </label>
        </div>
      ))}
    </fieldset>
    <div>
      <button class="primary" type="submit">
        Add webhook
      </button>
    </div>
  </form>
)
