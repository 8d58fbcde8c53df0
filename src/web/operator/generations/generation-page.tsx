import type { SignedIn } from '../../../core/accounts/session.js'
import type { OverseenGeneration } from '../../../core/operator/overview.js'
import { Fact } from '../../parts/lists.js'
import { counted, Moment } from '../../parts/text.js'
import { OperatorLayout, ReasonField } from '../parts/operator-layout.js'
import { LANE_NAMES } from '../parts/operator-parts.js'

interface OverseenGenerationProps {
  readonly generation: OverseenGeneration
  readonly signedIn: SignedIn
}

/** Without the prompt: it is its owner's. */
export const OverseenGenerationPage = ({ generation: it, signedIn }: OverseenGenerationProps) => (
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
