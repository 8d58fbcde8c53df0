import { z } from 'zod'
import type { SignedIn } from '../../../core/accounts/session.js'
import { GENERATION_ID } from '../../../core/generations/generation.js'
import { cancelAsOperator, noSuchGeneration } from '../../../core/operator/generations.js'
import type { OverseenGeneration } from '../../../core/operator/overview.js'
import { runAgain } from '../../../core/operator/run-again.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { sendPage } from '../../parts/layout.js'
import { actingOf, byOf, ReasonField, reason } from '../../parts/operator-forms.js'
import { Fact } from '../../parts/page-parts.js'
import { counted, Moment } from '../../parts/text.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { OperatorLayout } from '../parts/operator-layout.js'
import { LANE_NAMES } from '../parts/operator-parts.js'

interface OverseenGenerationProps {
  readonly generation: OverseenGeneration
  readonly signedIn: SignedIn
}

/** Without the prompt: it is its owner's. */
const OverseenGenerationPage = ({ generation: it, signedIn }: OverseenGenerationProps) => (
  <OperatorLayout title="Generation" signedIn={signedIn} path="/operator" aside={<Status of={it} />}>
    <section class="card stack">
      {it.error && <p class="problem">{it.error}</p>}
      <dl class="facts">
        <Fact name="ID">
          <code>{it.id}</code>
        </Fact>
        <Fact name="Account">
          <a href={`/operator/users/${encodeURIComponent(it.username)}`}>
            <bdi>{it.username}</bdi>
          </a>
        </Fact>
        <Fact name="Interface">{LANE_NAMES[it.lane]}</Fact>
        <Fact name="Model">
          <bdi>{it.modelName}</bdi>, <bdi class="mono">{it.filename}</bdi>
        </Fact>
        <Fact name="Images">
          {it.batchSize} of {it.width} × {it.height}, {it.steps} steps, {it.sampler}, seed {it.seed}
        </Fact>
        <Fact name="Charged">{it.metered ? 'metered' : counted(it.cost, 'credit')}</Fact>
        <Fact name="Attempt">{it.attempt}</Fact>
        {it.backend && (
          <Fact name="Backend">
            <bdi class="mono">{it.backend}</bdi>, <bdi>{it.worker}</bdi>
          </Fact>
        )}
        <Fact name="Submitted">
          <Moment at={it.createdAt} />
        </Fact>
        {it.startedAt && (
          <Fact name="Started">
            <Moment at={it.startedAt} />
          </Fact>
        )}
        {it.finishedAt && (
          <Fact name="Ended">
            <Moment at={it.finishedAt} />
          </Fact>
        )}
      </dl>
    </section>
    <Act of={it} />
  </OperatorLayout>
)

const Status = ({ of: { status } }: { of: OverseenGeneration }) => (
  <span class={`badge ${status === 'failed' ? 'bad' : status === 'succeeded' ? 'good' : ''}`}>{status}</span>
)

/** What can be done to it now. */
const Act = ({ of: { id, status } }: { of: OverseenGeneration }) => {
  if (status === 'succeeded') return null
  const [path, name, hint] =
    status === 'failed'
      ? ['run-again', 'Run again', 'Submits the same request anew for the account, which is charged for it as usual.']
      : ['cancel', 'Cancel it', 'Ends it and gives its credits back.']
  return (
    <form class="card stack" method="post" action={`/operator/generations/${id}/${path}`}>
      <p>{hint}</p>
      <ReasonField id="reason" />
      <button class={status === 'failed' ? 'primary' : 'danger'} type="submit">
        {name}
      </button>
    </form>
  )
}

// What Postgres refuses is no ID either.
const params = z.object({ id: z.string().regex(GENERATION_ID).catch('') })
const body = z.object({ reason })

/** One generation: what it is, and canceling it or running it again. */
export function overseenGenerationRoutes(app: App, { ports }: WebsiteOptions): void {
  const { oversight } = ports
  const pathOf = (id: string) => `/operator/generations/${id}`

  app.get(pathOf(':id'), { schema: { params } }, async (request, reply) => {
    const { id } = request.params
    const generation = await oversight.generation(id)
    if (!generation) throw noSuchGeneration(id)
    return sendPage(reply, <OverseenGenerationPage generation={generation} signedIn={sessionOf(request)} />)
  })

  app.post(`${pathOf(':id')}/cancel`, { schema: { params, body } }, async (request, reply) => {
    const { id } = request.params
    await cancelAsOperator(actingOf(ports, request, request.body.reason), id)
    return reply.redirect(pathOf(id), 303)
  })

  app.post(`${pathOf(':id')}/run-again`, { schema: { params, body } }, async (request, reply) => {
    const { id } = request.params
    const by = byOf(request, request.body.reason)
    const submitted = await runAgain(ports, by, id, { requestId: request.id, idempotency: undefined })
    return reply.redirect(pathOf(submitted.id), 303)
  })
}
