import type { SignedIn } from '../../../core/accounts/session.js'
import type { ModelVersion } from '../../../core/catalog/model-version.js'
import type { AuditResult, Overview } from '../../../core/operator/overview.js'
import { OperatorLayout, ReasonField } from '../parts/operator-layout.js'
import { isPaused } from '../parts/operator-parts.js'
import { LastAudit } from './last-audit.js'
import { OverviewParts } from './overview-parts.js'

interface OverviewPageProps {
  readonly overview: Overview
  readonly models: readonly ModelVersion[]
  /** What the form to pause names at first. */
  readonly chosen: string
  readonly audit: AuditResult | undefined
  readonly signedIn: SignedIn
}

/** The form stands beside what refreshes itself: no refresh takes away what is being typed. */
export const OverviewPage = ({ overview, models, chosen, audit, signedIn }: OverviewPageProps) => (
  <OperatorLayout
    title="Overview"
    signedIn={signedIn}
    path="/operator"
    live
    aside={
      <a class="button small" href="#pause">
        Pause…
      </a>
    }
  >
    <div id="live" class="stack" hx-get="/operator/live" hx-trigger="every 2s" hx-swap="innerMorph">
      <OverviewParts overview={overview} />
    </div>
    <PauseForm overview={overview} models={models} chosen={chosen} />
    <LastAudit audit={audit} />
  </OperatorLayout>
)

const PauseForm = ({ overview, models, chosen }: Omit<OverviewPageProps, 'audit' | 'signedIn'>) => {
  const running = (scope: 'model' | 'backend', targets: readonly string[]) =>
    [...new Set(targets)].filter((target) => !isPaused(overview, scope, target))
  const files = running(
    'model',
    [...models, ...overview.queue].map(({ filename }) => filename),
  ).sort()
  const backends = running(
    'backend',
    overview.backends.map(({ name }) => name),
  )
  return (
    <form class="card pause" method="post" action="/operator/pause" aria-labelledby="pause">
      <h2 id="pause">Pause</h2>
      <div class="field">
        <label for="what">What</label>
        <select id="what" name="what">
          {!isPaused(overview, 'all', '') && <option value="all">Everything</option>}
          <Targets label="A model" scope="model" targets={files} chosen={chosen} />
          <Targets label="A backend" scope="backend" targets={backends} chosen={chosen} />
        </select>
      </div>
      <ReasonField id="reason" />
      <button type="submit">Pause</button>
      <p class="quiet small">What runs goes on; what waits keeps its place and its deadline.</p>
    </form>
  )
}

interface TargetsProps {
  readonly label: string
  readonly scope: 'model' | 'backend'
  readonly targets: readonly string[]
  readonly chosen: string
}

const Targets = ({ label, scope, targets, chosen }: TargetsProps) =>
  targets.length === 0 ? null : (
    <optgroup label={label}>
      {targets.map((target) => (
        <option value={`${scope} ${target}`} selected={chosen === `${scope} ${target}`}>
          {target}
        </option>
      ))}
    </optgroup>
  )
