import type { SignedIn } from '../../../core/accounts/session.js'
import { type DeliveryRecord, OLD_SECRET_HOURS, type WebhookEndpoint } from '../../../core/webhooks/webhook.js'
import { SecretField } from '../../parts/account-fields.js'
import { Layout } from '../../parts/layout.js'
import { Cell, Fact, Pager } from '../../parts/page-parts.js'
import { Moment } from '../../parts/text.js'
import { inWords } from '../../texts/refusals.js'
import { useTexts } from '../../texts/texts.js'

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
  const texts = useTexts()
  const { webhooks } = texts
  const { one: words } = webhooks
  const path = `/webhooks/${endpoint.id}`
  return (
    <Layout title={words.title} signedIn={signedIn} path="/webhooks" class="column" style="account.css" live>
      <p>
        <a href="/webhooks">{words.allWebhooks}</a>
      </p>
      <h1>
        <bdi>{endpoint.url}</bdi>
      </h1>
      {secret && <NewSecret secret={secret} />}
      {endpoint.disabledReason !== null && <p class="problem">{inWords(endpoint.disabledReason, texts)}</p>}
      <section class="card stack" aria-label={words.about}>
        <dl class="facts">
          {endpoint.description && (
            <Fact name={words.description}>
              <bdi>{endpoint.description}</bdi>
            </Fact>
          )}
          <Fact name={webhooks.events}>{endpoint.events.join(', ')}</Fact>
          <Fact name={webhooks.added}>
            <Moment at={endpoint.createdAt} />
          </Fact>
          <Fact name={webhooks.status}>
            <EndpointStatus of={endpoint} />
          </Fact>
        </dl>
        <div class="row">
          <form method="post" action={`${path}/test`}>
            <button class="primary" type="submit">
              {words.test}
            </button>
          </form>
          <form method="post" action={`${path}/rotate-secret`}>
            <button type="submit" data-confirm={words.rotateConfirm} aria-describedby="rotation">
              {words.rotate}
            </button>
          </form>
          <form method="post" action={`${path}/delete`}>
            <button class="danger" type="submit" data-confirm={words.removeConfirm}>
              {words.remove}
            </button>
          </form>
        </div>
        <p id="rotation" class="small quiet">
          {words.rotation(OLD_SECRET_HOURS)}
        </p>
      </section>
      <Deliveries {...view} />
    </Layout>
  )
}

/** What was sent; asks for itself again while something waits. */
export const Deliveries = ({ endpoint, deliveries, older, later }: DeliveriesView) => {
  const { deliveries: words } = useTexts().webhooks
  const path = `/webhooks/${endpoint.id}`
  const waiting = !later && deliveries.some(({ status }) => status === 'pending')
  const live = { 'hx-get': `${path}/deliveries`, 'hx-trigger': 'every 2s', 'hx-swap': 'outerMorph' }
  return (
    <div id="deliveries" class="card" {...(waiting && live)}>
      <h2>{words.title}</h2>
      {endpoint.pausedUntil && <p class="hint">{words.paused(<Moment at={endpoint.pausedUntil} />)}</p>}
      {deliveries.length === 0 ? (
        <p class="empty">
          {words.none} {words.tryOne}
        </p>
      ) : (
        <section class="scroll" tabindex={0} aria-label={words.title}>
          <table class="stacking">
            <thead>
              <tr>
                <th>{words.event}</th>
                <th>{words.created}</th>
                <th>{words.status}</th>
                <th class="number">{words.tries}</th>
                <th>{words.next}</th>
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
  const { deliveries: words } = useTexts().webhooks
  const failure = lastError && status !== 'delivered' ? words.faults[lastError] : undefined
  return (
    <tr>
      <td class="first">
        {type}
        {generationId && <code class="reason quiet">{generationId}</code>}
      </td>
      <Cell label={words.created}>
        <Moment at={delivery.createdAt} />
      </Cell>
      <Cell label={words.status}>
        <span class={`badge ${TONES[status]}`}>{words.statuses[status]}</span>
        {lastStatus !== null && <span class="quiet"> HTTP {lastStatus}</span>}
        {failure && <span class="reason small quiet">{failure}</span>}
      </Cell>
      <Cell label={words.tries} class="number">
        {delivery.attempts}
      </Cell>
      <Cell label={words.next}>{delivery.nextAt ? <Moment at={delivery.nextAt} /> : words.noNext}</Cell>
    </tr>
  )
}

export const EndpointStatus = ({ of: { disabledReason, pausedUntil } }: { of: WebhookEndpoint }) => {
  const { statuses } = useTexts().webhooks
  if (disabledReason !== null) return <span class="badge bad">{statuses.disabled}</span>
  return pausedUntil ? <span class="badge">{statuses.paused}</span> : <span class="badge good">{statuses.enabled}</span>
}

/** The secret of an endpoint, this once. */
export const NewSecret = ({ secret }: { secret: string }) => {
  const { secret: words } = useTexts().webhooks
  return (
    <section class="card new-secret" aria-labelledby="new-secret">
      <h2 id="new-secret">{words.title}</h2>
      <p>{words.once}</p>
      <SecretField id="secret" label={words.label} value={secret} />
    </section>
  )
}
