import { z } from 'zod'
import type { SignedIn } from '../../../core/accounts/session.js'
import { GENERATION_ID, samplerName } from '../../../core/generations/generation.js'
import {
  type GenerationRecord,
  interfaceOf,
  madeWithOf,
  type RecordedGeneration,
  seconds,
  storyOf,
} from '../../../core/operator/generation-story.js'
import { cancelAsOperator, noSuchGeneration } from '../../../core/operator/generations.js'
import { runAgain } from '../../../core/operator/run-again.js'
import type { App } from '../../../http/shared/fastify-app.js'
import { SERVER_URLS } from '../../parts/image-urls.js'
import { sendPage } from '../../parts/layout.js'
import { actingOf, byOf, ReasonField, reason } from '../../parts/operator-forms.js'
import { Fact, Notices } from '../../parts/page-parts.js'
import { counted, Moment } from '../../parts/text.js'
import type { WebsiteOptions } from '../../shared/ports.js'
import { sessionOf } from '../../shared/session-cookie.js'
import { OperatorLayout } from '../parts/operator-layout.js'
import { BackendLink, Table, UserLink, userPath } from '../parts/operator-parts.js'
import { type Addresses, ImagesCard } from './images-card.js'

interface GenerationPageProps {
  readonly record: GenerationRecord
  readonly addresses: Addresses
  readonly signedIn: SignedIn
  readonly done?: string | undefined
}

/** Operators see the prompt, too: without it nobody can tell what was asked for, or whether it may be. */
const GenerationPage = ({ record, addresses, signedIn, done }: GenerationPageProps) => {
  const { generation } = record
  return (
    <OperatorLayout title="Generation" signedIn={signedIn} path="/operator" aside={<Status of={generation} />}>
      <Notices done={done} />
      {generation.error && <p class="problem">{generation.error}</p>}
      <Texts of={generation} />
      {record.images.length > 0 && <ImagesCard record={record} addresses={addresses} />}
      <Facts record={record} />
      <Story record={record} />
      <Act of={generation} />
    </OperatorLayout>
  )
}

const Status = ({ of: { status } }: { of: RecordedGeneration }) => (
  <span class={`badge ${status === 'failed' ? 'bad' : status === 'succeeded' ? 'good' : ''}`}>{status}</span>
)

const Texts = ({ of: { prompt, negativePrompt } }: { of: RecordedGeneration }) => (
  <section class="card stack" aria-labelledby="prompt">
    <h2 id="prompt">Prompt</h2>
    {prompt ? (
      <p class="prompt" dir="auto">
        {prompt}
      </p>
    ) : (
      <p class="quiet">Empty: it is no longer kept, or its account was deleted with all that is theirs.</p>
    )}
    {negativePrompt && (
      <>
        <h3>Negative prompt</h3>
        <p class="prompt" dir="auto">
          {negativePrompt}
        </p>
      </>
    )}
  </section>
)

const INTERFACES = { website: 'Website', create_image: 'Create Image', personal_api: 'Personal API' } as const

const Facts = ({ record }: { record: GenerationRecord }) => {
  const { generation: it, username, key, images } = record
  const madeWith = images[0]?.madeWith
  return (
    <section class="card stack" aria-labelledby="parameters">
      <h2 id="parameters">Parameters</h2>
      <dl class="facts">
        <Fact name="ID">
          <code>{it.id}</code>
        </Fact>
        <Fact name="Account">
          <UserLink username={username} />
        </Fact>
        <Fact name="Submitted through">
          {INTERFACES[interfaceOf(record)]}
          {key.kind !== 'website' && (
            <>
              ,{' '}
              <a href={`${userPath(username)}#key-${key.id}`}>{key.name ? <bdi>{key.name}</bdi> : `${key.kind} key`}</a>
            </>
          )}
        </Fact>
        <Fact name="Model">
          <a href={`/operator/models/${it.modelVersionId}`}>
            <bdi>{it.modelName}</bdi>
          </a>
          , <bdi class="mono">{it.filename}</bdi>
        </Fact>
        <Fact name="Images">
          {it.batchSize} of {it.width} × {it.height}
        </Fact>
        <Fact name="Steps">{it.steps}</Fact>
        <Fact name="Guidance (CFG)">{it.cfgScale}</Fact>
        <Fact name="Sampler">{samplerName(it.sampler)}</Fact>
        <Fact name="Seed">
          <code>{it.seed}</code>
        </Fact>
        {madeWith && (
          <Fact name="Drawn by">
            <bdi>{madeWithOf(madeWith)}</bdi>
          </Fact>
        )}
        <Fact name="Charged">{it.metered ? 'metered' : counted(it.cost, 'credit')}</Fact>
        <Fact name="Attempt">
          {it.attempt}
          {it.tries > 0 && `, after ${it.tries} that failed by its own fault`}
        </Fact>
        {it.backend && (
          <Fact name="Backend">
            <BackendLink backend={it.backend} worker={it.worker} />
          </Fact>
        )}
        <Fact name="Submitted">
          <Moment at={it.createdAt} />
        </Fact>
        {it.finishedAt ? (
          <Fact name="Ended">
            <Moment at={it.finishedAt} />
          </Fact>
        ) : (
          <Fact name="Deadline">
            <Moment at={it.deadlineAt} />
          </Fact>
        )}
        {it.requestId && (
          <Fact name="Request">
            <code>{it.requestId}</code>
          </Fact>
        )}
      </dl>
    </section>
  )
}

const Story = ({ record }: { record: GenerationRecord }) => {
  const begin = record.generation.createdAt.getTime()
  return (
    <Table name="What happened" columns={[['When'], ['After', 'number'], ['What']]}>
      {storyOf(record).map(({ at, what }) => (
        <tr>
          <td class="when">
            <Moment at={at} />
          </td>
          <td class="number">{seconds(at.getTime() - begin)}</td>
          <td class="what">
            <bdi>{what}</bdi>
          </td>
        </tr>
      ))}
    </Table>
  )
}

/** What can be done to it now. */
const Act = ({ of: { id, status } }: { of: RecordedGeneration }) => {
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
const query = z.object({ done: z.literal('removed').optional().catch(undefined) })
const body = z.object({ reason })

/** One generation: all about it, and canceling it or running it again. */
export function overseenGenerationRoutes(app: App, { ports }: WebsiteOptions): void {
  const { generations } = ports.administration
  const pathOf = (id: string) => `/operator/generations/${id}`

  app.get(pathOf(':id'), { schema: { params, querystring: query } }, async (request, reply) => {
    const { id } = request.params
    const record = id ? await generations.find(id) : undefined
    if (!record) throw noSuchGeneration(id)
    const page = { record, addresses: SERVER_URLS, signedIn: sessionOf(request) }
    return sendPage(reply, <GenerationPage {...page} done={request.query.done && 'The image is removed.'} />)
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
