import type { SignedIn } from '../../../core/accounts/session.js'
import {
  type DeliveryFault,
  type DeliveryRecord,
  OLD_SECRET_HOURS,
  type WebhookEndpoint,
} from '../../../core/webhooks/webhook.js'
import { SecretField } from '../../parts/account-fields.js'
import { Layout } from '../../parts/layout.js'
import { Cell, Fact, Pager } from '../../parts/page-parts.js'
import { Moment } from '../../parts/text.js'

interface EndpointView extends DeliveriesView {
  readonly signedIn: SignedIn
  readonly endpoint: WebhookEndpoint
  /** After a rotation: shown this once. */
  readonly secret?: string | undefined
}

interface DeliveriesView {
  readonly endpoint: WebhookEndpoint
  readonly deliveries: readonly DeliveryRecord[]
  /** The cursor of the next page. */
  readonly older: string | null
  /** Whether this is a later page, which stays as it is. */
  readonly later: boolean
}

/** One webhook endpoint and what was sent to it. */
export const EndpointPage = (view: EndpointView) => {
  const { endpoint, signedIn, secret } = view
  const path = `/webhooks/${endpoint.id}`
  const enabled = endpoint.disabledReason === null
  return (
    <Layout title="Webhook" signedIn={signedIn} path="/webhooks" class="column" style="account.css" live>
      <p>
        <a href="/webhooks">All webhooks</a>
      </p>
      <h1>
        <bdi>{endpoint.url}</bdi>
      </h1>
      {secret && <NewSecret secret={secret} />}
      {endpoint.disabledReason !== null && <p class="problem">{endpoint.disabledReason}</p>}
      <section class="card stack" aria-label="About this webhook">
        <dl class="facts">
          {endpoint.description && (
            <Fact name="Description">
              <bdi>{endpoint.description}</bdi>
            </Fact>
          )}
          <Fact name="Events">{endpoint.events.join(', ')}</Fact>
          <Fact name="Added">
            <Moment at={endpoint.createdAt} />
          </Fact>
          <Fact name="Status">
            <EndpointStatus of={endpoint} />
          </Fact>
        </dl>
        <div class="row">
          {enabled && (
            <form method="post" action={`${path}/test`}>
              <button class="primary" type="submit">
                Send a test
              </button>
            </form>
          )}
          <form method="post" action={`${path}/rotate-secret`}>
            <button type="submit" data-confirm="Make a new secret?" aria-describedby="rotation">
              Rotate secret
            </button>
          </form>
          <form method="post" action={`${path}/delete`}>
            <button class="danger" type="submit" data-confirm="Delete for good?">
              Delete
            </button>
          </form>
        </div>
        <p id="rotation" class="small quiet">
          After a rotation the old secret signs beside the new one for {OLD_SECRET_HOURS} hours.
        </p>
      </section>
      <Deliveries {...view} />
    </Layout>
  )
}

/** What was sent; asks for itself again while something waits. */
export const Deliveries = ({ endpoint, deliveries, older, later }: DeliveriesView) => {
  const path = `/webhooks/${endpoint.id}`
  const waiting = !later && deliveries.some(({ status }) => status === 'pending')
  const live = { 'hx-get': `${path}/deliveries`, 'hx-trigger': 'every 2s', 'hx-swap': 'outerMorph' }
  return (
    <div id="deliveries" class="card" {...(waiting && live)}>
      <h2>Deliveries</h2>
      {endpoint.pausedUntil && (
        <p class="hint">
          Paused after failed tries: nothing is sent before <Moment at={endpoint.pausedUntil} />.
        </p>
      )}
      {deliveries.length === 0 ? (
        <p class="empty">
          Nothing was sent yet.{endpoint.disabledReason === null && ' Send a test to see whether your server answers.'}
        </p>
      ) : (
        <section class="scroll" tabindex={0} aria-label="Deliveries">
          <table class="stacking">
            <thead>
              <tr>
                <th>Event</th>
                <th>Created</th>
                <th>Status</th>
                <th class="number">Tries</th>
                <th>Next try</th>
              </tr>
            </thead>
            <tbody>
              {deliveries.map((delivery) => (
                <Delivery key={delivery.eventId} of={delivery} />
              ))}
            </tbody>
          </table>
        </section>
      )}
      <Pager first={later ? path : undefined} next={older ? `${path}?cursor=${older}` : undefined} />
    </div>
  )
}

const TONES = { pending: '', delivered: 'good', failed: 'bad' } as const

const Delivery = ({ of: delivery }: { of: DeliveryRecord }) => {
  const { type, generationId, status, lastStatus, lastError } = delivery
  const failure = lastError && status !== 'delivered' ? FAULT_WORDS[lastError] : undefined
  return (
    <tr>
      <td class="first">
        {type}
        {generationId && <code class="reason quiet">{generationId}</code>}
      </td>
      <Cell label="Created">
        <Moment at={delivery.createdAt} />
      </Cell>
      <Cell label="Status">
        <span class={`badge ${TONES[status]}`}>{status}</span>
        {lastStatus !== null && <span class="quiet"> HTTP {lastStatus}</span>}
        {failure && <span class="reason small quiet">{failure}</span>}
      </Cell>
      <Cell label="Tries" class="number">
        {delivery.attempts}
      </Cell>
      <Cell label="Next try">{delivery.nextAt ? <Moment at={delivery.nextAt} /> : 'None'}</Cell>
    </tr>
  )
}

const FAULT_WORDS: Readonly<Record<DeliveryFault, string>> = {
  address_refused: 'The name leads to an address that may not be called.',
  dns_failed: 'The name was not found.',
  connection_failed: 'No connection.',
  tls_failed: 'The certificate is not valid.',
  timed_out: 'No answer in time.',
  redirected: 'It answered with a redirect, which is not followed.',
  status_not_2xx: 'It did not answer with a 2xx status.',
  endpoint_gone: 'It answered 410 Gone.',
  endpoint_ended: 'The webhook was deleted or disabled.',
  picture_removed: 'The image was removed.',
  too_old: 'It waited for too long.',
}

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
